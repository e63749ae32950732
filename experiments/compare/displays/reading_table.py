"""Tables whose columns are different readings of every cell's curves: the best of each in bold, ties marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.compare.charts.values import Axes, Standing, rivals, sample_text, setting_of, standings
from experiments.labels.axes import axis_title
from experiments.labels.metrics import MetricLabel
from experiments.presets.preset import ArgMax, Max, OneRun, Over, Reach
from experiments.presets.readings import Curves, sample_of
from experiments.statistics.intervals import Sample

MOST_OPEN = 24


@dataclass(frozen=True)
class Field:
    text: str
    standing: Standing = ""
    note: str = ""


def bare(words: Sequence[str], heads: Sequence[str]) -> tuple[str, ...]:
    """Without what their column's head says already: 0.4 below "hybrid ratio"."""
    return tuple(word.removeprefix(f"{head} ") for word, head in zip(words, heads, strict=True))


@dataclass(frozen=True)
class DisplayTable:
    """`heads` are the words that begin each row, `columns` the numbers' names; `caption` says what they are."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Field, ...]], ...]
    caption: str = ""
    detail: bool = False
    """Of interest to few."""

    @property
    def long(self) -> bool:
        """Better folded away at first."""
        return self.detail or len(self.rows) > MOST_OPEN


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
                Field(sample_text(own[cell], column.label), best.get(cell, ""), notes(own[cell]))
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
