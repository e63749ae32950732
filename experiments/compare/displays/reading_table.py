"""Tables whose columns are different readings of every cell's curves: the best of each in bold, ties marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.compare.charts.values import (
    Standing,
    lost_text,
    rival_groups,
    sample_numbers,
    sample_text,
    samples_note,
    setting_of,
    standings,
)
from experiments.labels.axes import Axes
from experiments.labels.metrics import MetricLabel
from experiments.labels.names import axis_title
from experiments.papers.tables import PaperField, PaperTable, strip_heads
from experiments.presets.preset import ArgMax, BestReading, CurveReading, Max, Over, Reach
from experiments.presets.readings import CurvesBySeed, read_mean_curve, read_sample
from experiments.statistics.over_seeds import Sample, merge_seeds

MOST_OPEN_ROWS = 24


@dataclass(frozen=True)
class DisplayTable:
    """`heads` are the words that begin each row, `columns` the numbers' names; `caption` says what they are."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[PaperField, ...]], ...]
    caption: str = ""
    detail: bool = False
    """Of interest to few."""

    @property
    def slug(self) -> str:
        """Its name in an address."""
        return slug(self.title)

    @property
    def paper_table(self) -> PaperTable:
        return PaperTable(self.heads, tuple((column,) for column in self.columns), self.rows)

    @property
    def long(self) -> bool:
        """Better folded away at first."""
        return self.detail or len(self.rows) > MOST_OPEN_ROWS


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def sample_field(sample: Sample, label: MetricLabel, standing: Standing = "") -> PaperField:
    note = lost_text(sample.lost, sample.missed)
    return PaperField(sample_text(sample, label), standing, note, sample_numbers(sample, label))


STABLE_FROM, STABLE_TO = 16, 100


@dataclass(frozen=True)
class ReadingColumn:
    """`judged`: one of its values can be called the best."""

    label: MetricLabel
    reading: CurveReading
    judged: bool = True


def accuracy_label(text: str, *, squared: bool = False) -> MetricLabel:
    unit, scale = ("%²", 1e4) if squared else ("%", 100.0)
    return MetricLabel(text, text, unit, scale, 2, higher_is_better=not squared)


def stability_columns(rounds: int) -> tuple[ReadingColumn, ...]:
    """Rounds 16 to 100 as in the study that printed them; shorter runs are looked at from the same share on."""
    last = min(STABLE_TO, rounds)
    first = max(1, round(STABLE_FROM * last / STABLE_TO))
    span = f"rounds {first}–{last}"
    return (
        ReadingColumn(accuracy_label("Max"), Max(take="max")),
        ReadingColumn(accuracy_label(f"Mean, {span}"), Over(take="mean", first=first, last=last)),
        ReadingColumn(accuracy_label(f"Variance, {span}", squared=True), Over(take="variance", first=first, last=last)),
    )


BEST_COLUMNS = (
    ReadingColumn(accuracy_label("Best accuracy of the mean curve"), Max(take="max", of="mean-curve")),
    ReadingColumn(MetricLabel("argmax", "In round", digits=0), ArgMax(take="argmax", of="mean-curve"), judged=False),
)


def target_column(target: float) -> ReadingColumn:
    return ReadingColumn(
        MetricLabel("reach", f"Rounds to {100 * target:g} %", digits=1), Reach(take="reach", target=target)
    )


def reading_table(
    title: str,
    cells: Mapping[str, CurvesBySeed],
    axes: Axes,
    columns: Sequence[ReadingColumn],
    *,
    compared: str,
    label_axes: Axes | None = None,
) -> DisplayTable:
    """A row for each cell with seeds that have ended; only cells that agree in all but the compared axis are rivals.

    `label_axes` are the axes that rows are labelled by, where those are fewer.
    """
    label_axes = axes if label_axes is None else label_axes
    cells = {cell: seeds for cell, seeds in cells.items() if seeds}
    samples = [{cell: column_sample(column.reading, seeds) for cell, seeds in cells.items()} for column in columns]
    groups = rival_groups(list(cells), axes, compared)
    standing = [
        standings(column_samples, groups, higher=column.label.higher_is_better) if column.judged else {}
        for column, column_samples in zip(columns, samples, strict=True)
    ]
    rows = tuple(
        (
            row_words(cell, label_axes, compared),
            tuple(
                sample_field(column_samples[cell], column.label, best.get(cell, ""))
                for column, column_samples, best in zip(columns, samples, standing, strict=True)
            ),
        )
        for cell in cells
    )
    note = samples_note(sample for column_samples in samples for sample in column_samples.values())
    caption = f"{READING_CAPTION}; {note}" if note else READING_CAPTION
    return DisplayTable(
        title, row_heads(label_axes, compared), tuple(each.label.axis for each in columns), rows, caption
    )


def column_sample(reading: CurveReading, seeds: CurvesBySeed) -> Sample:
    """What is read from the mean curve is one number of all seeds."""
    if not isinstance(reading, BestReading) or reading.of == "run":
        return read_sample(reading, seeds)
    value = read_mean_curve(reading, seeds)
    return merge_seeds({} if value is None else {0: [value]})


READING_CAPTION = "Mean ± std over seeds; bold: best of rivals; †: not shown to differ from it (paired 95 % interval)"


def row_heads(axes: Axes, compared: str) -> tuple[str, ...]:
    others = [axis_title(axis) for axis in axes if axis != compared]
    return (*others, *([axis_title(compared)] if compared in axes else [])) or ("cell",)


def row_words(cell: str, axes: Axes, compared: str) -> tuple[str, ...]:
    """Setting first, then what competes in it."""
    words = (*setting_of(cell, axes, compared), *([axes[compared][cell]] if compared in axes else [])) or ("all",)
    return strip_heads(words, row_heads(axes, compared))
