"""Several readings of every cell's curves side by side: the best of each column in bold, ties marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.charts.displays.table import DisplayTable, Field, bare
from experiments.charts.intervals import Sample
from experiments.charts.labels import axis_title
from experiments.charts.metrics import MetricLabel
from experiments.charts.values import Axes, rivals, setting_of, shown, standings
from experiments.presets.preset import ArgMax, Max, OneRun, Over, Reach
from experiments.presets.readings import Curves, sample_of

Seeds = Mapping[int, Curves]
"""The curves of a cell's finished runs by seed."""
STABLE_FROM, STABLE_TO = 16, 100


@dataclass(frozen=True)
class Column:
    """`judged`: one of its values can be called the best."""

    label: MetricLabel
    reading: OneRun
    judged: bool = True


def share(text: str, *, squared: bool = False) -> MetricLabel:
    unit, scale = ("%²", 1e4) if squared else ("%", 100.0)
    return MetricLabel(text, text, unit, scale, 2, higher_is_better=not squared)


def stability_columns(rounds: int) -> tuple[Column, ...]:
    """Rounds 16 to 100 as in the study that printed them; shorter runs are looked at from the same share on."""
    last = min(STABLE_TO, rounds)
    first = max(1, round(STABLE_FROM * last / STABLE_TO))
    span = f"rounds {first}–{last}"
    return (
        Column(share("Max"), Max(take="max")),
        Column(share(f"Mean, {span}"), Over(take="mean", first=first, last=last)),
        Column(share(f"Variance, {span}", squared=True), Over(take="variance", first=first, last=last)),
    )


BEST_COLUMNS = (
    Column(share("Best accuracy"), Max(take="max")),
    Column(MetricLabel("argmax", "In round", digits=1), ArgMax(take="argmax"), judged=False),
)


def target_column(target: float) -> Column:
    return Column(MetricLabel("reach", f"Rounds to {100 * target:g} %", digits=1), Reach(take="reach", target=target))


def reading_table(
    title: str,
    cells: Mapping[str, Seeds],
    axes: Axes,
    columns: Sequence[Column],
    *,
    compared: str,
    told: Axes | None = None,
) -> DisplayTable:
    """A row for each cell with finished runs; only cells that agree in all but the compared axis are rivals.

    `told` are the axes that are told in words, where those are fewer.
    """
    told = axes if told is None else told
    cells = {cell: seeds for cell, seeds in cells.items() if seeds}
    samples = [{cell: sample_of(column.reading, seeds) for cell, seeds in cells.items()} for column in columns]
    groups = rivals(list(cells), axes, compared)
    standing = [
        standings(own, groups, higher=column.label.higher_is_better) if column.judged else {}
        for column, own in zip(columns, samples, strict=True)
    ]
    rows = tuple(
        (
            words_of(cell, told, compared),
            tuple(
                Field(shown(own[cell], column.label), best.get(cell, ""), notes(own[cell]))
                for column, own, best in zip(columns, samples, standing, strict=True)
            ),
        )
        for cell in cells
    )
    return DisplayTable(title, heads_of(told, compared), tuple(each.label.axis for each in columns), rows, CAPTION)


CAPTION = "Mean ± std over seeds; bold: the best of rivals; †: no different from it by the paired 95 % interval"


def notes(sample: Sample) -> str:
    parts = {"not finite": sample.lost, "never": sample.missed}
    return ", ".join(f"{count} {word}" for word, count in parts.items() if count)


def heads_of(axes: Axes, compared: str) -> tuple[str, ...]:
    others = [axis_title(axis) for axis in axes if axis != compared]
    return (*others, *([axis_title(compared)] if compared in axes else [])) or ("cell",)


def words_of(cell: str, axes: Axes, compared: str) -> tuple[str, ...]:
    """Setting first, then what competes in it."""
    words = (*setting_of(cell, axes, compared), *([axes[compared][cell]] if compared in axes else [])) or ("all",)
    return bare(words, heads_of(axes, compared))
