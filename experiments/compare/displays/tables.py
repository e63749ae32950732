"""Displays that are tables: rounds, stability, final values, convergence, groups of clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, F, Func
from django.http import QueryDict

from experiments.compare.chart_builders import no_values_text, selection_table
from experiments.compare.charts.pivot_table import PivotEntry, PivotTable, pivot_caption
from experiments.compare.choices import choices_of
from experiments.compare.displays.reading_table import (
    BEST_COLUMNS,
    DisplayTable,
    reading_table,
    row_heads,
    row_words,
    sample_field,
    stability_columns,
    target_column,
)
from experiments.compare.displays.subject import Subject
from experiments.compare.samples import samples_of
from experiments.labels.axes import Axes
from experiments.labels.metrics import metric_label
from experiments.labels.names import axis_title, method_slug
from experiments.models import Run, RunState
from experiments.papers.tables import PaperField, strip_heads
from experiments.presets.preset import Final
from experiments.presets.readings import (
    BYTES,
    DETECTORS,
    CurvesBySeed,
    convergence_effort,
    convergence_numbers,
    read_sample,
)
from experiments.results.charts.findings import finding_text

MOST_MEMBER_TABLES = 6
MOST_GROUPINGS = 500


def rounds_tables(subject: Subject) -> list[DisplayTable]:
    if subject.is_large:
        return []
    rounds = " ".join(map(str, subject.table_rounds))
    best = reading_table(
        "Best accuracy and its round",
        subject.curves("accuracy"),
        subject.selection.axes,
        BEST_COLUMNS,
        compared=subject.compared,
        label_axes=subject.label_axes,
    )
    return [pivot_display_table(subject, [("value", "at"), ("at", rounds)], across=""), best]


def stability_tables(subject: Subject) -> list[DisplayTable]:
    if subject.is_large:
        return []
    columns, curves = stability_columns(subject.rounds), subject.curves("accuracy")
    title = "Accuracy: its best, and how steady it is"
    axes, label_axes = subject.selection.axes, subject.label_axes
    return [reading_table(title, curves, axes, columns, compared=subject.compared, label_axes=label_axes)]


def final_tables(subject: Subject) -> list[DisplayTable]:
    return [] if subject.is_large else [pivot_display_table(subject, [], across=subject.compared)]


def rounds_to_target_tables(subject: Subject) -> list[DisplayTable]:
    if subject.is_large:
        return []
    columns = [target_column(subject.target)]
    title = f"Rounds to {100 * subject.target:g} % test accuracy"
    axes, label_axes = subject.selection.axes, subject.label_axes
    return [
        reading_table(
            title, subject.curves("accuracy"), axes, columns, compared=subject.compared, label_axes=label_axes
        )
    ]


def convergence_tables(subject: Subject) -> list[DisplayTable]:
    if subject.is_large:
        return []
    curves = subject.curves("accuracy", DETECTORS, *BYTES)
    return [convergence_table(curves, subject.label_axes, compared=subject.compared)]


def group_tables(subject: Subject) -> list[DisplayTable]:
    groupings = run_groupings(subject)
    first = list({each.label: each for each in reversed(groupings)}.values())[::-1]
    return [groups_table(groupings), members_table(first[:MOST_MEMBER_TABLES])]


class FoundGroups(Func):
    """Whether a run's findings have groups, whatever strategy found them: told by the database, which has to read
    the findings of thousands of runs."""

    template = "jsonb_path_exists(%(expressions)s, '$.*.groups')"
    output_field = BooleanField()


def run_groupings(subject: Subject) -> list[Grouping]:
    found = FoundGroups(F("findings"))
    done = Run.objects.filter(found, pk__in=list(subject.selection.runs), state=RunState.DONE).order_by("pk")
    findings = dict(done.values_list("pk", "findings")[:MOST_GROUPINGS])
    return [
        Grouping(subject.cell_styles[run.cell].whole_label, run.seed, finding)
        for run in subject.selection.runs.values()
        if run.pk in findings and (finding := find_groups(findings[run.pk]))
    ]


def pivot_display_table(subject: Subject, chosen: list[tuple[str, str]], *, across: str) -> DisplayTable:
    """Compare's table in this one's shape."""
    query = QueryDict(mutable=True)
    for name, value in [*chosen, *([("across", across)] if across else [])]:
        query.appendlist(name, value)
    choices = choices_of(query)
    table = selection_table(subject.selection, choices, samples_of(subject.selection, choices))
    words = pivot_caption(table) if table.entries else no_values_text(choices)
    heads = tuple(axis_title(axis) for axis in table.down) or ("",)
    columns = tuple(" · ".join(head) or table.label.axis for head in table.head)
    measured_rows = [(row, entries) for row, entries in table.rows if any(entries)]
    rows = tuple(
        (strip_heads(row or ("",), heads), tuple(table_field(entry, table) for entry in entries))
        for row, entries in measured_rows
    )
    return DisplayTable(table.label.axis, heads, columns, rows, words)


def table_field(entry: PivotEntry | None, table: PivotTable) -> PaperField:
    return PaperField("–") if entry is None else sample_field(entry.sample, table.label, entry.standing)


def centralised_tables(subject: Subject) -> list[DisplayTable]:
    """Final accuracy of training on pooled data: a row for each data set and model, a column for each run length."""
    if subject.is_large:
        return []
    curves = subject.curves("accuracy")
    cells = [cell for cell in subject.selection.cells if method_slug(cell.spec) == "centralised"]
    epochs = sorted({centralised_epochs(cell.spec) for cell in cells})
    label, reading = metric_label("accuracy"), Final(take="final")
    rows: dict[tuple[str, str], dict[int, PaperField]] = {}
    for cell in cells:
        sample = read_sample(reading, curves[cell.key])
        field = sample_field(sample, label)
        heads = (str(cell.spec["dataset"]["name"]), str(cell.spec["model"]["name"]))
        rows.setdefault(heads, {})[centralised_epochs(cell.spec)] = field
    filled = tuple((heads, tuple(row.get(each, PaperField("–")) for each in epochs)) for heads, row in rows.items())
    columns = tuple(f"{each:,} epochs" for each in epochs)
    title = f"Training on pooled data: {label.axis}"
    return [DisplayTable(title, ("data set", "model"), columns, filled, "Mean ± std over seeds")]


def centralised_epochs(spec: Mapping[str, Any]) -> int:
    return int(spec["rounds"] * spec["local"]["epochs"])


CONVERGENCE_COLUMNS = ("Rounds", "MB per round", "MB, mean", "MB, worst case")
CONVERGENCE_CAPTION = (
    "Until accuracy changes by less than 0.1 % of itself from one round to the next, each detector for itself where "
    "there are any. Worst case: one standard deviation more rounds. Bytes are those of all clients together."
)


def convergence_table(cells: Mapping[str, CurvesBySeed], axes: Axes, *, compared: str) -> DisplayTable:
    rows = tuple((row_words(cell, axes, compared), convergence_fields(seeds)) for cell, seeds in cells.items() if seeds)
    return DisplayTable("Until convergence", row_heads(axes, compared), CONVERGENCE_COLUMNS, rows, CONVERGENCE_CAPTION)


def convergence_fields(seeds: CurvesBySeed) -> tuple[PaperField, ...]:
    effort = convergence_effort(seeds)
    if effort is None:
        return (PaperField("not yet"), PaperField("–"), PaperField("–"), PaperField("–"))
    megabytes = effort.bytes_per_epoch * 1e-6
    never = convergence_numbers(seeds).count(None)
    return (
        PaperField(f"{effort.mean:.1f} ± {effort.deviation:.1f}", note=f"{never} never" if never else ""),
        *(
            PaperField(f"{value:,.2f}")
            for value in (megabytes, megabytes * effort.mean, megabytes * (effort.mean + effort.deviation))
        ),
    )


GROUP_COLUMNS = ("Groups", "Clients in each", "Purity", "Kinds of clients", "Near no other", "Radius")

MEMBERS_TITLE = "Who is in each group"


@dataclass(frozen=True)
class Grouping:
    """One run's finding."""

    label: str
    seed: int
    finding: Mapping[str, Any]


def find_groups(findings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Whatever strategy found them."""
    groupings = [each for each in findings.values() if isinstance(each, Mapping) and "groups" in each]
    return groupings[0] if groupings else None


def groups_table(groupings: Sequence[Grouping]) -> DisplayTable:
    rows = tuple(((each.label, str(each.seed)), group_fields(each.finding)) for each in groupings)
    caption = "Purity: share of clients in a group whose commonest set of classes is theirs"
    return DisplayTable("Groups found", ("cell", "seed"), GROUP_COLUMNS, rows, caption)


def group_fields(finding: Mapping[str, Any]) -> tuple[PaperField, ...]:
    sizes = [len(group["members"]) for group in finding["groups"]]
    values = [len(sizes), sizes, finding.get("purity"), finding.get("class_sets"), len(finding.get("noise") or ())]
    return (*(PaperField(finding_text(each)) for each in values), PaperField(finding_text(finding.get("eps"))))


def number_spans(numbers: Sequence[int]) -> str:
    """Neighbours together, as from 0 to 19."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in spans)


def members_table(groupings: Sequence[Grouping]) -> DisplayTable:
    rows = tuple(
        (
            (each.label, str(each.seed), str(place)),
            (PaperField(number_spans(group["members"])), PaperField(finding_text(group["classes"]))),
        )
        for each in groupings
        for place, group in enumerate(each.finding["groups"], start=1)
    )
    return DisplayTable(MEMBERS_TITLE, ("cell", "seed", "group"), ("Clients", "Classes"), rows, detail=True)
