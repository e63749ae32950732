"""From a lab to small files: what the studies tagged `reproduction` have found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import QueryDict

from experiments.compare.chart_builders import against
from experiments.compare.choices import choices_of
from experiments.compare.displays import tables
from experiments.compare.displays.compare_views import RATIO, query, to_target
from experiments.compare.displays.offers import OFFERS
from experiments.compare.displays.reading_table import DisplayTable, Field
from experiments.compare.displays.subject import Subject, subject_of
from experiments.compare.displays.tables import MEMBERS
from experiments.labels.metrics import metric_label
from experiments.models import Study
from experiments.presets import wording
from experiments.presets.comparison import Row
from experiments.presets.preset import Preset, presets
from experiments.presets.selectors import comparison
from experiments.statistics.over_seeds import curves_of

TAG, ASIDE = "reproduction", "reproduction-aside"
"""An aside looks for the reason of a difference; its tables follow the study's own."""
DIGITS = 5
TABLES = ("rounds-table", "stability-table", "final-table", "rounds-to-target", "traffic", "groups")


def collected() -> dict[str, dict[str, Any]]:
    """By preset, of the newest such study of each."""
    studies = Study.objects.filter(tags__contains=[TAG]).order_by("pk")
    found = {name: study for study in studies for name in study.tags if name in presets()}
    return {name: told(presets()[name], study) for name, study in sorted(found.items())}


def asides(preset: Preset) -> list[DisplayTable]:
    """Final values and rounds to the target, where the preset has one, of studies that look for a reason."""
    studies = Study.objects.filter(tags__contains=[ASIDE, preset.name]).order_by("pk")
    return [replace(table, title=f"{study.name}: {table.title}") for study in studies for table in aside(study, preset)]


def aside(study: Study, preset: Preset) -> list[DisplayTable]:
    subject = subject_of(study, preset)
    return [*tables.final_table(subject), *(tables.rounds_to_target(subject) if preset.target else [])]


def told(preset: Preset, study: Study) -> dict[str, Any]:
    subject = subject_of(study, preset)
    rows = comparison(preset=preset, study=study)
    return {
        "study": study.name,
        "cut": study.description,
        "states": dict(sorted(Counter(run.state for run in subject.picked.runs.values()).items())),
        "compared": [row_of(row) for row in rows if row.mean is not None],
        "not_compared": dict(Counter(row.reason for row in rows if row.mean is None).most_common()),
        "tables": [table_of(table) for table in [*tables_of(subject, preset), *asides(preset)]],
        "charts": charts_of(subject),
    }


def row_of(row: Row) -> dict[str, Any]:
    published = row.published
    return {
        "about": wording.about(published.match),
        "what": wording.what(published),
        "unit": wording.unit(published),
        "published": wording.printed(published),
        "measured": wording.measured(row),
        "n": row.n,
        "difference": f"{row.difference:+.2f}",
        "inside": row.inside,
    }


def tables_of(subject: Subject, preset: Preset) -> list[DisplayTable]:
    """Those of the preset's own displays that fit; of ratios, a final table too."""
    wanted = [name for name in preset.displays if name in TABLES]
    found = [table for name in wanted if OFFERS[name].fits(subject) for table in OFFERS[name].tables(subject)]
    kept = [table for table in found if table.rows and table.title != MEMBERS]
    return kept or [table for table in tables.final_table(subject) if table.rows]


def table_of(table: DisplayTable) -> dict[str, Any]:
    rows = [[list(heads), [[noted(field), field.standing] for field in fields]] for heads, fields in table.rows]
    return {
        "title": table.title,
        "heads": list(table.heads),
        "columns": list(table.columns),
        "rows": rows,
        "caption": table.caption,
    }


def noted(field: Field) -> str:
    """With what its mean leaves out, such as seeds that never reached a target."""
    return f"{field.text} ({field.note})" if field.note else field.text


def charts_of(subject: Subject) -> list[dict[str, Any]]:
    if RATIO in subject.picked.axes:
        return [
            ratio_chart(subject, "Final accuracy", "test accuracy, %", []),
            ratio_chart(subject, f"Rounds to {subject.target:.0%}", "rounds", to_target(subject)),
        ]
    return curve_charts(subject)


def ratio_chart(subject: Subject, title: str, y: str, chosen: Sequence[tuple[str, str]]) -> dict[str, Any]:
    drawn = against(subject.picked, choices_of(QueryDict(query(subject, ("against", RATIO), *chosen))))
    scale = 1.0 if chosen else 100.0
    lines: dict[str, list[list[float | None]]] = {}
    for label, x, mean, low, high, _ in drawn.table.rows:
        lines.setdefault(label, []).append([x, *(scaled(value, scale) for value in (mean, low, high))])
    return {"title": title, "x": "hybrid ratio", "y": y, "lines": lines}


def curve_charts(subject: Subject) -> list[dict[str, Any]]:
    """One for each setting, with a line for each strategy; only finished runs."""
    runs = {
        cell.key: [run.pk for run in cell.runs if run.state == "done"] for cell in subject.picked.cells if cell.done
    }
    charts: dict[str, dict[str, list[list[float | None]]]] = {}
    for point in curves_of(cells=runs, metric="accuracy"):
        setting = " · ".join(w[point.cell] for axis, w in subject.picked.axes.items() if axis != subject.compared)
        line = subject.picked.axes[subject.compared][point.cell]
        low, high = (None, None) if point.std is None or point.mean is None else spread(point.mean, point.std)
        values = [scaled(value, 100.0) for value in (point.mean, low, high)]
        charts.setdefault(setting, {}).setdefault(line, []).append([point.round, *values])
    axis = metric_label("accuracy").axis
    return [
        {"title": f"Accuracy over rounds{f', {setting}' if setting else ''}", "x": "round", "y": axis, "lines": lines}
        for setting, lines in charts.items()
    ]


def spread(mean: float, std: float) -> tuple[float, float]:
    return mean - std, mean + std


def scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else round(value * scale, DIGITS)
