"""The tables of Compare by name, each from a selection and its choices, as papers want them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from experiments.compare.chart_builders import client_spreads, selection_significance, selection_table
from experiments.compare.charts.pivot_table import pivot_caption, pivot_paper_table
from experiments.compare.charts.significance import SignificanceInfo, friedman_words
from experiments.compare.choices import Choices, Tab
from experiments.compare.samples import samples_of
from experiments.compare.selection import Selection
from experiments.compare.selectors.clients import client_accuracies
from experiments.papers.tables import PaperField, PaperTable


@dataclass(frozen=True)
class CaptionedTable:
    table: PaperTable
    title: str
    notes: str


def values_table(selection: Selection, choices: Choices) -> CaptionedTable:
    table = selection_table(selection, choices, samples_of(selection, choices))
    return CaptionedTable(pivot_paper_table(table), table.label.axis, pivot_caption(table))


def better_table(selection: Selection, choices: Choices) -> CaptionedTable:
    """Each method against each other: in how many settings it is better, ties and is worse."""
    info = selection_significance(selection, choices)
    rows = tuple(
        ((first,), tuple(PaperField(between_text(info, first, second)) for second in info.methods))
        for first in info.methods
    )
    table = PaperTable(("row against column",), tuple((method,) for method in info.methods), rows)
    notes = (
        "Settings in which the row is better, ties and is worse than the column, by the paired 95 % interval over seeds"
    )
    return CaptionedTable(table, info.label.axis, f"{notes} · {friedman_words(info)}")


def between_text(info: SignificanceInfo, first: str, second: str) -> str:
    counts = info.between(first, second)
    return "–" if counts is None else " / ".join(map(str, counts))


def clients_table(selection: Selection, choices: Choices) -> CaptionedTable:
    spreads = client_spreads(selection, choices, client_accuracies(runs=list(selection.runs)))
    rows = tuple(
        ((each.whole_label,), tuple(number_field(value, each.seeds) for value in (each.mean, each.worst, each.std)))
        for each in spreads
    )
    columns = (("Mean",), ("Worst tenth",), ("Std over clients",))
    return CaptionedTable(PaperTable(("cell",), columns, rows), "Accuracies of clients, %", "Means over seeds")


def number_field(value: float, seeds: int) -> PaperField:
    return PaperField(f"{value:.2f}", numbers=(value, None, seeds))


TABLE_BUILDERS: dict[str, Callable[[Selection, Choices], CaptionedTable]] = {
    "values": values_table,
    "better": better_table,
    "clients": clients_table,
}
TABLES_BY_TAB: dict[Tab, tuple[str, ...]] = {"overview": ("values",), "better": ("better",), "clients": ("clients",)}
