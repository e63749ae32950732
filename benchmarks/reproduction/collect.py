"""From a lab to small files: what the studies tagged `reproduction` have found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from experiments.compare.chart_builders import against_chart
from experiments.compare.choices import choices_of
from experiments.compare.displays import tables
from experiments.compare.displays.compare_views import RATIO, target_choices, view_query
from experiments.compare.displays.offers import OFFERS
from experiments.compare.displays.reading_table import DisplayTable, TableField
from experiments.compare.displays.subject import Subject, subject_of
from experiments.compare.displays.tables import MEMBERS_TITLE
from experiments.labels.metrics import metric_label
from experiments.models import Study
from experiments.presets import wording
from experiments.presets.comparison import ComparisonRow
from experiments.presets.preset import Preset, presets
from experiments.presets.selectors import preset_comparison
from experiments.statistics.curves import curve_statistics

TAG, ASIDE = "reproduction", "reproduction-aside"
"""An aside looks for the reason of a difference; its tables follow the study's own."""
DIGITS = 5
TABLES = ("rounds-table", "stability-table", "final-table", "rounds-to-target", "traffic", "groups")


def collect_results() -> dict[str, dict[str, Any]]:
    """By preset, of the newest such study of each."""
    studies = Study.objects.filter(tags__contains=[TAG]).order_by("pk")
    newest = {name: study for study in studies for name in study.tags if name in presets()}
    return {name: collect_study(presets()[name], study) for name, study in sorted(newest.items())}


def aside_tables(preset: Preset) -> list[DisplayTable]:
    """Final values and rounds to the target, where the preset has one, of studies that look for a reason."""
    studies = Study.objects.filter(tags__contains=[ASIDE, preset.name]).order_by("pk")
    return [
        replace(table, title=f"{study.name}: {table.title}")
        for study in studies
        for table in study_aside_tables(study, preset)
    ]


def study_aside_tables(study: Study, preset: Preset) -> list[DisplayTable]:
    subject = subject_of(study, preset)
    return [*tables.final_tables(subject), *(tables.rounds_to_target_tables(subject) if preset.target else [])]


def collect_study(preset: Preset, study: Study) -> dict[str, Any]:
    subject = subject_of(study, preset)
    rows = preset_comparison(preset=preset, study=study)
    return {
        "study": study.name,
        "cut": study.description,
        "states": dict(sorted(Counter(run.state for run in subject.selection.runs.values()).items())),
        "compared": [comparison_values(row) for row in rows if row.mean is not None],
        "not_compared": dict(Counter(row.reason for row in rows if row.mean is None).most_common()),
        "tables": [table_values(table) for table in [*preset_tables(subject, preset), *aside_tables(preset)]],
        "charts": study_charts(subject),
    }


def comparison_values(row: ComparisonRow) -> dict[str, Any]:
    published = row.published
    return {
        "about": wording.match_text(published.match),
        "what": wording.quantity_text(published),
        "unit": wording.unit_text(published),
        "published": wording.published_text(published),
        "measured": wording.measured_text(row),
        "n": row.n,
        "difference": f"{row.difference:+.2f}",
        "inside": row.inside,
    }


def preset_tables(subject: Subject, preset: Preset) -> list[DisplayTable]:
    """Those of the preset's own displays that fit; of ratios, a final table too."""
    names = [name for name in preset.displays if name in TABLES]
    tables_that_fit = [table for name in names if OFFERS[name].fits(subject) for table in OFFERS[name].tables(subject)]
    filled = [table for table in tables_that_fit if table.rows and table.title != MEMBERS_TITLE]
    return filled or [table for table in tables.final_tables(subject) if table.rows]


def table_values(table: DisplayTable) -> dict[str, Any]:
    rows = [
        [list(heads), [[text_with_note(field), field.standing] for field in fields]] for heads, fields in table.rows
    ]
    return {
        "title": table.title,
        "heads": list(table.heads),
        "columns": list(table.columns),
        "rows": rows,
        "caption": table.caption,
    }


def text_with_note(field: TableField) -> str:
    """With what its mean leaves out, such as seeds that never reached a target."""
    return f"{field.text} ({field.note})" if field.note else field.text


def study_charts(subject: Subject) -> list[dict[str, Any]]:
    if RATIO in subject.selection.axes:
        return [
            ratio_chart(subject, "Final accuracy", "test accuracy, %", []),
            ratio_chart(subject, f"Rounds to {subject.target:.0%}", "rounds", target_choices(subject)),
        ]
    return curve_charts(subject)


def ratio_chart(subject: Subject, title: str, y: str, options: Sequence[tuple[str, str]]) -> dict[str, Any]:
    chart = against_chart(subject.selection, choices_of(QueryDict(view_query(subject, ("against", RATIO), *options))))
    scale = 1.0 if options else 100.0
    lines: dict[str, list[list[float | None]]] = {}
    for label, x, mean, low, high, _ in chart.table.rows:
        lines.setdefault(label, []).append([x, *(scale_value(value, scale) for value in (mean, low, high))])
    return {"title": title, "x": "hybrid ratio", "y": y, "lines": lines}


def curve_charts(subject: Subject) -> list[dict[str, Any]]:
    """One for each setting, with a line for each strategy; only finished runs."""
    runs = {
        cell.key: [run.pk for run in cell.runs if run.state == "done"] for cell in subject.selection.cells if cell.done
    }
    charts: dict[str, dict[str, list[list[float | None]]]] = {}
    for point in curve_statistics(cells=runs, metric="accuracy"):
        setting = " · ".join(w[point.cell] for axis, w in subject.selection.axes.items() if axis != subject.compared)
        line = subject.selection.axes[subject.compared][point.cell]
        low, high = (None, None) if point.std is None or point.mean is None else std_band(point.mean, point.std)
        values = [scale_value(value, 100.0) for value in (point.mean, low, high)]
        charts.setdefault(setting, {}).setdefault(line, []).append([point.round, *values])
    axis = metric_label("accuracy").axis
    return [
        {"title": f"Accuracy over rounds{f', {setting}' if setting else ''}", "x": "round", "y": axis, "lines": lines}
        for setting, lines in charts.items()
    ]


def std_band(mean: float, std: float) -> tuple[float, float]:
    return mean - std, mean + std


def scale_value(value: float | None, scale: float) -> float | None:
    return None if value is None else round(value * scale, DIGITS)
