"""Displays that are tables."""

from __future__ import annotations

from django.http import QueryDict

from experiments.charts.displays.convergence import convergence_table
from experiments.charts.displays.groups import Grouping, groups_in, groups_table, members_table
from experiments.charts.displays.reading_table import BEST_COLUMNS, reading_table, stability_columns, target_column
from experiments.charts.displays.table import DisplayTable, Field, bare
from experiments.charts.labels import axis_title
from experiments.charts.pivot_table import Entry, PivotTable, caption
from experiments.charts.values import shown
from experiments.compare.choices import choices_of
from experiments.compare.overview import missing_words, table_of
from experiments.compare.samples import samples_of
from experiments.displays.subject import Subject
from experiments.models import Run, RunState
from experiments.presets.savings import BYTES, DETECTORS

MEMBERS_SHOWN = 6


def rounds_table(subject: Subject) -> list[DisplayTable]:
    rounds = " ".join(map(str, subject.table_rounds))
    best = reading_table(
        "Best accuracy and its round",
        subject.curves("accuracy"),
        subject.picked.axes,
        BEST_COLUMNS,
        compared=subject.compared,
        told=subject.told,
    )
    return [pivoted(subject, [("value", "at"), ("at", rounds)], across=""), best]


def stability_table(subject: Subject) -> list[DisplayTable]:
    columns, curves = stability_columns(subject.rounds), subject.curves("accuracy")
    title = "Accuracy: its best, and how steady it is"
    axes, told = subject.picked.axes, subject.told
    return [reading_table(title, curves, axes, columns, compared=subject.compared, told=told)]


def final_table(subject: Subject) -> list[DisplayTable]:
    return [pivoted(subject, [], across=subject.compared)]


def rounds_to_target(subject: Subject) -> list[DisplayTable]:
    columns = [target_column(subject.target)]
    title = f"Rounds to {100 * subject.target:g} % test accuracy"
    axes, told = subject.picked.axes, subject.told
    return [reading_table(title, subject.curves("accuracy"), axes, columns, compared=subject.compared, told=told)]


def convergence(subject: Subject) -> list[DisplayTable]:
    curves = subject.curves("accuracy", DETECTORS, *BYTES)
    return [convergence_table(curves, subject.told, compared=subject.compared)]


def groups(subject: Subject) -> list[DisplayTable]:
    found = groupings(subject)
    first = list({each.label: each for each in reversed(found)}.values())[::-1]
    return [groups_table(found), members_table(first[:MEMBERS_SHOWN])]


def groupings(subject: Subject) -> list[Grouping]:
    done = Run.objects.filter(pk__in=list(subject.picked.runs), state=RunState.DONE)
    told = dict(done.values_list("pk", "findings"))
    return [
        Grouping(subject.places[run.cell].whole_label, run.seed, own)
        for run in subject.picked.runs.values()
        if run.pk in told and (own := groups_in(told[run.pk]))
    ]


def pivoted(subject: Subject, chosen: list[tuple[str, str]], *, across: str) -> DisplayTable:
    """Compare's table in this one's shape."""
    query = QueryDict(mutable=True)
    for name, value in [*chosen, *([("across", across)] if across else [])]:
        query.appendlist(name, value)
    choices = choices_of(query)
    table = table_of(subject.picked, choices, samples_of(subject.picked, choices))
    words = caption(table) if table.entries else missing_words(choices)
    heads = tuple(axis_title(axis) for axis in table.down) or ("",)
    columns = tuple(" · ".join(head) or table.label.axis for head in table.head)
    told = [(row, entries) for row, entries in table.rows if any(entries)]
    rows = tuple((bare(row or ("",), heads), tuple(field(entry, table) for entry in entries)) for row, entries in told)
    return DisplayTable(table.label.axis, heads, columns, rows, words)


def field(entry: Entry | None, table: PivotTable) -> Field:
    if entry is None:
        return Field("–")
    never = f"{entry.sample.missed} never" if entry.sample.missed else ""
    return Field(shown(entry.sample, table.label), entry.standing, never)
