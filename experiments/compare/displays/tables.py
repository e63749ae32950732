"""Displays that are tables: rounds, stability, final values, convergence, groups of clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from experiments.compare.chart_builders import missing_words, table_of
from experiments.compare.charts.pivot_table import Entry, PivotTable, caption
from experiments.compare.charts.values import Axes, sample_text
from experiments.compare.choices import choices_of
from experiments.compare.displays.reading_table import (
    BEST_COLUMNS,
    DisplayTable,
    Field,
    Seeds,
    bare,
    heads_of,
    reading_table,
    stability_columns,
    target_column,
    words_of,
)
from experiments.compare.displays.subject import Subject
from experiments.compare.samples import samples_of
from experiments.labels.axes import axis_title
from experiments.models import Run, RunState
from experiments.presets.readings import BYTES, DETECTORS, effort
from experiments.results.charts.findings import text

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
    return Field(sample_text(entry.sample, table.label), entry.standing, never)


CONVERGENCE_COLUMNS = ("Rounds", "MB per round", "MB, mean", "MB, worst case")
CAPTION = (
    "Until accuracy changes by less than 0.1 points from one round to the next, each detector for itself where there "
    "are any. Worst case: one standard deviation more rounds. Bytes are those of all clients together."
)


def convergence_table(cells: Mapping[str, Seeds], axes: Axes, *, compared: str) -> DisplayTable:
    rows = tuple((words_of(cell, axes, compared), convergence_fields(seeds)) for cell, seeds in cells.items() if seeds)
    return DisplayTable("Until convergence", heads_of(axes, compared), CONVERGENCE_COLUMNS, rows, CAPTION)


def convergence_fields(seeds: Seeds) -> tuple[Field, ...]:
    found = effort(seeds)
    if found is None:
        return (Field("not yet"), Field("–"), Field("–"), Field("–"))
    each = found.bytes_per_epoch * 1e-6
    return (
        Field(f"{found.mean:.1f} ± {found.deviation:.1f}"),
        *(Field(f"{value:,.2f}") for value in (each, each * found.mean, each * (found.mean + found.deviation))),
    )


GROUP_COLUMNS = ("Groups", "Clients in each", "Purity", "Kinds of clients", "Near no other", "Radius")

MEMBERS = "Who is in each group"


@dataclass(frozen=True)
class Grouping:
    """One run's finding."""

    label: str
    seed: int
    found: Mapping[str, Any]


def groups_in(findings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Whatever strategy found them."""
    told = [each for each in findings.values() if isinstance(each, Mapping) and "groups" in each]
    return told[0] if told else None


def groups_table(groupings: Sequence[Grouping]) -> DisplayTable:
    rows = tuple(((each.label, str(each.seed)), group_fields(each.found)) for each in groupings)
    caption = "Purity: share of clients in a group whose commonest set of classes is theirs"
    return DisplayTable("Groups found", ("cell", "seed"), GROUP_COLUMNS, rows, caption)


def group_fields(found: Mapping[str, Any]) -> tuple[Field, ...]:
    sizes = [len(group["members"]) for group in found["groups"]]
    told = [len(sizes), sizes, found.get("purity"), found.get("class_sets"), len(found.get("noise") or ())]
    return (*(Field(text(each)) for each in told), Field(text(found.get("eps"))))


def spans(numbers: Sequence[int]) -> str:
    """Neighbours together, as from 0 to 19."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in found)


def members_table(groupings: Sequence[Grouping]) -> DisplayTable:
    rows = tuple(
        ((each.label, str(each.seed), str(place)), (Field(spans(group["members"])), Field(text(group["classes"]))))
        for each in groupings
        for place, group in enumerate(each.found["groups"], start=1)
    )
    return DisplayTable(MEMBERS, ("cell", "seed", "group"), ("Clients", "Classes"), rows, detail=True)
