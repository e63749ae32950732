"""A table of any axes down and across, for the page and for papers. Nothing is averaged but seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from experiments.charts.chart import DataTable
from experiments.charts.styles import first_positions, is_decided_by
from experiments.compare.charts.values import (
    FEWEST_SEEDS,
    TIE_MEANING,
    Standing,
    ValueChoice,
    rival_groups,
    sample_numbers,
    sample_text,
    samples_note,
    seeds_text,
    standings,
)
from experiments.labels.axes import Axes
from experiments.labels.metrics import MetricLabel
from experiments.labels.names import axis_title
from experiments.papers.tables import PaperField, PaperTable, strip_heads
from experiments.statistics.over_seeds import Sample

SamplesByCell = Mapping[tuple[str, int], Sample]
"""By cell and column (a round, or 0)."""


@dataclass(frozen=True)
class PivotEntry:
    sample: Sample
    standing: Standing = ""


@dataclass(frozen=True)
class PivotTable:
    """`head` has the words of each column, `rows` those of each row with its entries; `down` names the axes."""

    label: MetricLabel
    down: tuple[str, ...]
    across: tuple[str, ...]
    head: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[tuple[str, ...], tuple[PivotEntry | None, ...]], ...]
    compared: str

    @property
    def head_levels(self) -> list[list[tuple[str, int]]]:
        """For each axis across: its words with the number of columns that each spans."""
        levels = len(self.head[0]) if self.head else 0
        return [[(words[-1], width) for words, width in head_spans(self.head, level)] for level in range(levels)]

    @property
    def entries(self) -> list[PivotEntry]:
        return [entry for _, entries in self.rows for entry in entries if entry]


def pivot_table(
    cells: Sequence[str],
    axes: Axes,
    values: SamplesByCell,
    label: MetricLabel,
    value_choice: ValueChoice,
    *,
    across: Sequence[str] = (),
    compared: str = "",
) -> PivotTable:
    columns = across_axes(axes, across, compared, value_choice)
    rest = [axis for axis in axes if axis not in columns]
    down = tuple(sorted(rest, key=lambda axis: axis == compared))  # rivals stand below each other
    grid: dict[tuple[str, ...], dict[tuple[str, ...], PivotEntry]] = {}
    rounds = value_choice.columns if value_choice.kind == "at" else (0,)
    for column in rounds:
        samples = {cell: values[cell, column] for cell in cells if (cell, column) in values}
        standing = standings(samples, rival_groups(cells, axes, compared), higher=label.higher_is_better)
        for cell in cells:
            row, here = cell_words(cell, axes, down), column_head(cell, axes, columns, column, value_choice)
            line = grid.setdefault(row, {})
            if cell in samples:
                line[here] = PivotEntry(samples[cell], standing.get(cell, ""))
    heads = dict.fromkeys(column_head(cell, axes, columns, column, value_choice) for cell in cells for column in rounds)
    head = tuple(sort_words(heads, [axes[axis] for axis in columns], rounds))
    rows = tuple(
        (row, tuple(grid[row].get(place) for place in head)) for row in sort_words(grid, [axes[axis] for axis in down])
    )
    return PivotTable(label, down, (*columns, *(("round",) if value_choice.kind == "at" else ())), head, rows, compared)


def across_axes(axes: Axes, chosen: Sequence[str], compared: str, value_choice: ValueChoice) -> tuple[str, ...]:
    """Those chosen; otherwise the last axis that is not compared, unless rounds go across already. One that follows
    from the others would leave gaps in every row."""
    known = tuple(axis for axis in chosen if axis in axes)
    if known or value_choice.kind == "at" or len(axes) < 2:
        return known
    rest = [axis for axis in axes if axis != compared]
    free = [axis for axis in rest if not is_decided_by(axes[axis], [axes[other] for other in axes if other != axis])]
    return ((free or rest)[-1],)


def cell_words(cell: str, axes: Axes, chosen: Sequence[str]) -> tuple[str, ...]:
    return tuple(axes[axis][cell] for axis in chosen)


def column_head(
    cell: str, axes: Axes, columns: Sequence[str], column: int, value_choice: ValueChoice
) -> tuple[str, ...]:
    return (*cell_words(cell, axes, columns), *((round_word(column),) if value_choice.kind == "at" else ()))


def sort_words(
    heads: Iterable[tuple[str, ...]], axes: Sequence[Mapping[str, str]], rounds: Sequence[int] = ()
) -> list[tuple[str, ...]]:
    """In the order of their axes' values, those with the same first word side by side; rounds as they were named."""
    places = [first_positions(words.values()) for words in axes] + [first_positions(map(round_word, rounds))]
    return sorted(heads, key=lambda head: [place[word] for place, word in zip(places, head, strict=False)])


def round_word(column: int) -> str:
    return f"round {column}"


def head_spans(heads: Sequence[tuple[str, ...]], level: int) -> Iterator[tuple[tuple[str, ...], int]]:
    for words_so_far, equal_heads in groupby(head[: level + 1] for head in heads):
        yield words_so_far, len(list(equal_heads))


def pivot_paper_table(table: PivotTable) -> PaperTable:
    heads = tuple(axis_title(axis) for axis in table.down)
    rows = tuple(
        (strip_heads(row, heads), tuple(paper_field(entry, table.label) for entry in entries))
        for row, entries in table.rows
    )
    return PaperTable(heads, tuple(head or (table.label.axis,) for head in table.head), rows)


def paper_field(entry: PivotEntry | None, label: MetricLabel) -> PaperField:
    """With how many seeds there are, where some are lost."""
    if entry is None:
        return PaperField("–")
    note = "" if entry.sample.complete else seeds_text(entry.sample)
    return PaperField(sample_text(entry.sample, label), entry.standing, note, sample_numbers(entry.sample, label))


def pivot_caption(table: PivotTable) -> str:
    """What the numbers are; what bold and † mean, where they occur."""
    parts = [f"mean ± std over seeds ({seed_counts(table)})"]
    standings_found = {entry.standing for entry in table.entries}
    if "best" in standings_found:
        parts.append("bold: best mean among cells that differ only in " + axis_title(table.compared))
    if "tie" in standings_found:
        parts.append(f"†: {TIE_MEANING}, {seed_counts(table)})")
    elif standings_found and max(entry.sample.n for entry in table.entries) < FEWEST_SEEDS:
        parts.append(f"with fewer than {FEWEST_SEEDS} seeds nothing is said of the difference to it")
    if note := samples_note(entry.sample for entry in table.entries):
        parts.append(f"{note}, and a cell that lost seeds is never called the best")
    return "; ".join(parts)


def seed_counts(table: PivotTable) -> str:
    counts = sorted({entry.sample.n for entry in table.entries}) or [0]
    return f"n={counts[0]}" if counts[0] == counts[-1] else f"n={counts[0]}–{counts[-1]}"


def pivot_data(cells: Sequence[str], axes: Axes, values: SamplesByCell, *, compared: str, higher: bool) -> DataTable:
    """Tidy: a row per cell and column, in stored units."""
    columns = ("cell", *axes, "column", "mean", "std", "n", "lost", "missed", "standing")
    rows = []
    for column in dict.fromkeys(column for _, column in values):
        samples = {cell: values[cell, column] for cell in cells if (cell, column) in values}
        standing = standings(samples, rival_groups(cells, axes, compared), higher=higher)
        for cell, each in samples.items():
            numbers = (each.mean, each.std, each.n, each.lost, each.missed, standing.get(cell, ""))
            rows.append((cell, *cell_words(cell, axes, list(axes)), column or "", *numbers))
    return DataTable(columns, tuple(rows))
