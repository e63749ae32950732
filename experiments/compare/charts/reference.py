"""The baseline that a comparison is shown against: a line across every panel, and its numbers in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.compare.charts.values import sample_text
from experiments.labels.metrics import MetricLabel
from experiments.statistics.over_seeds import Sample


@dataclass(frozen=True)
class Reference:
    """A starred cell; `sample` has what the compared cells are judged by."""

    label: str
    dataset: str
    study: int
    sample: Sample

    def text(self, metric: MetricLabel) -> str:
        return f"{sample_text(self.sample, metric)}, n = {self.sample.n}"


def add_reference_line(figure: dict[str, Any], reference: Reference | None, metric: MetricLabel) -> dict[str, Any]:
    """At its mean; nothing where it has none."""
    if reference is None or reference.sample.mean is None or not figure["data"]:
        return figure
    level = reference.sample.mean * metric.scale
    layout = figure["layout"]
    panels = [key.removeprefix("yaxis") for key in layout if key.startswith("yaxis")] or [""]
    line = {"type": "line", "layer": "below", "x0": 0, "x1": 1, "y0": level, "y1": level, "line": {"dash": "longdash"}}
    lines = [{**line, "xref": f"x{place} domain", "yref": f"y{place}"} for place in panels]
    words = {
        "text": f"baseline: {reference.label}",
        "showarrow": False,
        "xref": f"x{panels[0]} domain",
        "yref": f"y{panels[0]}",
        "x": 0,
        "y": level,
        "xanchor": "left",
        "yanchor": "bottom",
    }
    shapes, annotations = layout.get("shapes", []), layout.get("annotations", [])
    return {**figure, "layout": {**layout, "shapes": [*shapes, *lines], "annotations": [*annotations, words]}}


def reference_note(reference: Reference | None, metric: MetricLabel) -> str:
    return f"Baseline: {reference.label}, {reference.text(metric)}" if reference else ""
