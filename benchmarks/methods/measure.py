"""Runs the experiments and sums their curves up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.methods.experiments import Experiment, Fields
from benchmarks.strategies.page import mean_and_half_width
from workers.engine import simulate
from workers.engine_version import ENGINE_VERSION

SAME_CURVES_SINCE = 3
"""Versions of the engine from this one on differ in last bits only: what one of them measured stands for all."""

Results = dict[str, Any]
Curve = Sequence[Mapping[str, float]]
Point = list[float]
"""x, mean, and both ends of Student's 95 % interval, within 0 and 1."""


def is_current(experiment: Experiment, results: Results | None) -> bool:
    if results is None or results["engine_version"] < SAME_CURVES_SINCE:
        return False
    return bool(results["definition"] == experiment.definition())


def measure_experiment(experiment: Experiment, tell: Callable[[str], None], earlier: Results | None = None) -> Results:
    """Lines that `earlier` has as they are defined now are taken from there."""
    lines = current_lines(experiment, earlier)
    for label, fields in experiment.lines.items():
        if label not in lines:
            lines[label] = points_along(experiment, fields) if experiment.axis else points_by_round(experiment, fields)
            tell(line_text(experiment, label, lines[label]))
    for label, fields in experiment.levels.items():
        if label not in lines:
            values = last_accuracies(experiment, fields)
            lines[label] = [interval_point(x, values) for x in (min(experiment.axis), max(experiment.axis))]
            tell(line_text(experiment, label, lines[label]))
    lines = {label: lines[label] for label in (*experiment.lines, *experiment.levels)}
    return {"engine_version": ENGINE_VERSION, "definition": experiment.definition(), "lines": lines}


def current_lines(experiment: Experiment, earlier: Results | None) -> dict[str, list[Point]]:
    if earlier is None or earlier["engine_version"] < SAME_CURVES_SINCE:
        return {}
    now, then = json.loads(json.dumps(experiment.definition())), earlier["definition"]
    if any(now[name] != then[name] for name in ("block", "axis", "seeds", "over")):
        return {}
    same = [label for kind in ("lines", "levels") for label in now[kind] if now[kind][label] == then[kind].get(label)]
    return {label: earlier["lines"][label] for label in same}


def line_text(experiment: Experiment, label: str, points: Sequence[Point]) -> str:
    return f"{experiment.name:14} {label:32} {' '.join(f'{100 * point[1]:.1f}' for point in points[-5:])}"


def points_along(experiment: Experiment, fields: Fields) -> list[Point]:
    return [
        interval_point(x, last_accuracies(experiment, merge_fields(fields, along)))
        for x, along in experiment.axis.items()
    ]


def points_by_round(experiment: Experiment, fields: Fields) -> list[Point]:
    curves = list(run_seeds(experiment, fields))
    return [
        interval_point(x, [curve[number]["accuracy"] for curve in curves])
        for number, x in enumerate(x_values(experiment, curves[0]))
    ]


def x_values(experiment: Experiment, curve: Curve) -> Iterator[float]:
    total = 0.0
    for number, metrics in enumerate(curve):
        total += metrics.get(experiment.over, 0.0)
        yield round(total / 1e6, 6) if experiment.over else number


def last_accuracies(experiment: Experiment, fields: Fields) -> list[float]:
    return [curve[-1]["accuracy"] for curve in run_seeds(experiment, fields)]


def run_seeds(experiment: Experiment, fields: Fields) -> Iterator[Curve]:
    for seed in range(experiment.seeds):
        spec = {**merge_fields(experiment.block, fields), "seed": seed}
        yield [record.metrics for record in simulate(spec, device="cpu").history]


def merge_fields(fields: Fields, changes: Fields) -> Fields:
    """Mappings are joined one level deep: {privacy: {clip}} and {privacy: {epsilon}} give both."""
    joined = {**fields}
    for name, value in changes.items():
        joined[name] = {**joined[name], **value} if isinstance(value, dict) and name in joined else value
    return joined


def interval_point(x: float, values: Sequence[float]) -> Point:
    mean, half = mean_and_half_width(values)
    return [x, round(mean, 5), round(max(0.0, mean - half), 5), round(min(1.0, mean + half), 5)]
