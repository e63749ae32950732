"""Published beside measured, number by number. Pure: cells and their curves in, rows out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.presets.preset import (
    ArgMax,
    BestReading,
    CurveReading,
    Final,
    Max,
    Over,
    Preset,
    Published,
    Saved,
    Size,
)
from experiments.presets.readings import CurvesBySeed, read_mean_curve, read_sample, saved_percent
from experiments.statistics.intervals import interval_around, paired_difference, t_half_width
from experiments.statistics.over_seeds import Sample
from workers.catalog import load_catalog
from workers.errors import TributaryError
from workers.spec import parse_run

NOT_IN_GRID = "This study has no such cell."
NOT_DONE = "No run of this cell is done yet."
NOT_READ = "The runs have no such number: they are shorter than the published ones, or never got there."
NOT_FINITE = "Every run of this cell diverged."
SEEDS_LOST = "Seeds of these cells diverged or have no value: the difference of the others would tell of survivors."


@dataclass(frozen=True)
class MeasuredCell:
    """A cell of a study: its spec as resolved, and the curves of its finished runs by seed."""

    spec: Mapping[str, Any]
    seeds: CurvesBySeed

    @property
    def measured_seeds(self) -> int:
        return sum(1 for runs in self.seeds.values() if runs)


WHOLE_CURVE = (Final, Max, ArgMax)
"""Readings that more rounds would change."""
WIDEST_INTERVAL = 10.0
"""In points."""


@dataclass(frozen=True)
class ComparisonRow:
    """One published number and what was measured; `reason` says why it cannot be compared.

    `lost` and `missed` seeds have no value and are not in the mean, which then is in no interval either.
    """

    published: Published
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str = ""
    spec: Mapping[str, Any] | None = None
    lost: int = 0
    missed: int = 0
    seedless: bool = False
    """The number is no matter of seeds."""
    shorter: str = ""
    """Says so where the number is one of whole curves and these have fewer rounds than the published ones."""

    @property
    def difference(self) -> float | None:
        """Nothing is claimed of the mean of the seeds that are left where others are lost."""
        return None if self.mean is None or self.lost or self.missed else self.mean - self.published.value

    @property
    def is_vague(self) -> bool:
        """Whether the interval of a share is too wide to confirm anything."""
        shares = self.published.unit in ("percent", "points")
        return shares and self.low is not None and self.high is not None and self.high - self.low > WIDEST_INTERVAL

    @property
    def inside(self) -> bool | None:
        """Whether the published value lies in the interval; None where there is none, or one that confirms nothing."""
        if self.low is None or self.high is None:
            return None
        lies_in_it = self.low <= self.published.value <= self.high
        return None if lies_in_it and self.is_vague else lies_in_it


def compare_with_published(preset: Preset, finder: CellFinder) -> list[ComparisonRow]:
    return [comparison_row(each, finder) for each in preset.published]


@dataclass(frozen=True)
class CellFinder:
    """Finds the cells that a number is about.

    `reference` has the specs of the full scale: of several cells that match, the one most like it counts. `why_absent`
    tells of a `match` why it could not be run at all, such as data that are not here.
    """

    cells: Sequence[MeasuredCell]
    reference: Sequence[Mapping[str, Any]]
    why_absent: Callable[[Mapping[str, Any]], str | None]

    def matching(self, match: Mapping[str, Any]) -> list[MeasuredCell]:
        return [cell for cell in self.cells if spec_matches(cell.spec, match)]

    def best_match(self, match: Mapping[str, Any]) -> MeasuredCell | None:
        candidates = self.matching(match)
        reference = next((spec_leaves(spec) for spec in self.reference if spec_matches(spec, match)), {})
        return max(candidates, key=lambda cell: spec_likeness(cell.spec, reference), default=None)

    def shorter_note(self, match: Mapping[str, Any], cell: MeasuredCell) -> str:
        """Empty where the cell has as many rounds as the full scale gives it, or more."""
        rounds = next((spec.get("rounds", 0) for spec in self.reference if spec_matches(spec, match)), 0)
        own = cell.spec.get("rounds", rounds)
        return f"The runs have {own} of the published {rounds} rounds." if own < rounds else ""

    def missing_reason(self, match: Mapping[str, Any]) -> str:
        return self.why_absent(match) or NOT_IN_GRID


def comparison_row(published: Published, finder: CellFinder) -> ComparisonRow:
    reading = published.reading
    if isinstance(reading, Saved) or (isinstance(reading, Final) and reading.of == "difference"):
        return pair_row(published, finder)
    if isinstance(reading, Final) and reading.of == "best-cell":
        return best_cell_row(published, finder)
    if isinstance(reading, Final) and reading.of == "best-run":
        return best_run_row(published, finder)
    cell = finder.best_match(published.match)
    if cell is None:
        return ComparisonRow(published, reason=finder.missing_reason(published.match))
    if isinstance(reading, Size):
        return size_row(published, cell)
    return cell_row(published, cell, finder)


def cell_row(published: Published, cell: MeasuredCell, finder: CellFinder) -> ComparisonRow:
    if not cell.measured_seeds:
        return ComparisonRow(published, reason=NOT_DONE, spec=cell.spec)
    reading = published.reading
    assert isinstance(reading, CurveReading)
    if isinstance(reading, BestReading) and reading.of == "mean-curve":
        row = mean_curve_row(published, cell)
    else:
        row = sample_row(published, read_sample(reading, cell.seeds, unit_scale(published)), cell.spec)
    return replace(row, shorter=finder.shorter_note(published.match, cell)) if isinstance(reading, WHOLE_CURVE) else row


def mean_curve_row(published: Published, cell: MeasuredCell) -> ComparisonRow:
    """One number of all seeds, so that it has no interval."""
    assert isinstance(published.reading, BestReading)
    value = read_mean_curve(published.reading, cell.seeds)
    missed = len(cell.seeds) - cell.measured_seeds
    row = ComparisonRow(published, n=cell.measured_seeds, spec=cell.spec, missed=missed)
    if value is None or not math.isfinite(value):
        return replace(row, reason=NOT_READ if value is None else NOT_FINITE)
    return replace(row, mean=value * unit_scale(published))


def size_row(published: Published, cell: MeasuredCell) -> ComparisonRow:
    megabytes = model_megabytes(cell.spec)
    if megabytes is None:
        return ComparisonRow(published, reason=NOT_READ, spec=cell.spec)
    return ComparisonRow(published, megabytes, n=cell.measured_seeds, spec=cell.spec, seedless=True)


def model_megabytes(spec: Mapping[str, Any]) -> float | None:
    """Of the model that clients send in a round; None where the catalog no longer takes the spec."""
    catalog = load_catalog()
    try:
        run = parse_run(spec)
    except TributaryError:
        return None
    classes = catalog.strategies[run.strategy.name].model_classes(run)
    return catalog.models[run.model.name].parameter_count(run.dataset_facts.shape, classes, run.model) * 4e-6


def sample_row(published: Published, sample: Sample, spec: Mapping[str, Any]) -> ComparisonRow:
    """An interval only of all seeds: that of those that are left would tell of survivors."""
    row = ComparisonRow(published, sample.mean, n=sample.n, spec=spec, lost=sample.lost, missed=sample.missed)
    if sample.mean is None:
        return replace(row, reason=NOT_FINITE if sample.lost and not sample.missed else NOT_READ)
    half = t_half_width(sample.std, sample.n) if sample.complete else None
    low, high = (None, None) if half is None else interval_around(sample.mean, half)
    if published.unit == "percent" and not isinstance(published.reading, Over) and low is not None and high is not None:
        low, high = max(0.0, low), min(100.0, high)
    return replace(row, low=low, high=high)


def best_cell_row(published: Published, finder: CellFinder) -> ComparisonRow:
    rows = [cell_row(published, cell, finder) for cell in finder.matching(published.match)]
    comparable = [each for each in rows if each.mean is not None]
    if not rows:
        return ComparisonRow(published, reason=finder.missing_reason(published.match))
    complete = [each for each in comparable if not (each.lost or each.missed)]
    return max(complete or comparable, key=lambda each: each.mean or 0.0) if comparable else rows[0]


def best_run_row(published: Published, finder: CellFinder) -> ComparisonRow:
    """The highest last value of any run of all matching cells."""
    cells = finder.matching(published.match)
    if not cells:
        return ComparisonRow(published, reason=finder.missing_reason(published.match))
    reading, scale = Final(take="final"), unit_scale(published)
    values = [(value, cell.spec) for cell in cells for value in read_sample(reading, cell.seeds, scale).seeds.values()]
    if not values:
        return ComparisonRow(published, reason=NOT_DONE)
    best, spec = max(values, key=lambda each: each[0])
    return ComparisonRow(published, best, n=len(values), spec=spec)


def pair_row(published: Published, finder: CellFinder) -> ComparisonRow:
    """A number about two cells: the difference of their last values over common seeds, or the bytes saved."""
    against = published.against or {}
    ours, theirs = finder.best_match(published.match), finder.best_match(against)
    if ours is None or theirs is None:
        return ComparisonRow(published, reason=finder.missing_reason(published.match if ours is None else against))
    if not ours.measured_seeds or not theirs.measured_seeds:
        return ComparisonRow(published, reason=NOT_DONE, spec=ours.spec)
    if isinstance(published.reading, Saved):
        return saved_row(published, ours, theirs)
    reading, scale = Final(take="final"), unit_scale(published)
    own, other = read_sample(reading, ours.seeds, scale), read_sample(reading, theirs.seeds, scale)
    row = ComparisonRow(
        published, spec=ours.spec, lost=len(own.diverged | other.diverged), missed=len(own.missing | other.missing)
    )
    difference = paired_difference(own, other)
    if difference is None:
        return replace(row, reason=SEEDS_LOST if row.lost or row.missed else NOT_READ)
    return replace(row, mean=difference.mean, low=difference.low, high=difference.high, n=difference.n)


def saved_row(published: Published, ours: MeasuredCell, theirs: MeasuredCell) -> ComparisonRow:
    assert isinstance(published.reading, Saved)
    percent = saved_percent(published.reading, ours.seeds, theirs.seeds)
    if percent is None:
        return ComparisonRow(published, reason=NOT_READ)
    missed = len(ours.seeds) - ours.measured_seeds
    return ComparisonRow(published, percent, n=ours.measured_seeds, spec=ours.spec, missed=missed)


def unit_scale(published: Published) -> float:
    """Accuracies are printed in percent (differences in points), so a variance is in percent squared."""
    if published.unit not in ("percent", "points"):
        return 1.0
    squared = isinstance(published.reading, Over) and published.reading.take == "variance"
    return 100.0**2 if squared else 100.0


def spec_matches(spec: Mapping[str, Any], match: Mapping[str, Any]) -> bool:
    """Every field of `match`, at any depth, has that value in the spec."""
    return all(
        spec_matches(spec.get(key) or {}, expected) if isinstance(expected, Mapping) else spec.get(key) == expected
        for key, expected in match.items()
    )


def spec_leaves(spec: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in spec.items():
        flat |= spec_leaves(value, f"{path}{key}.") if isinstance(value, Mapping) else {f"{path}{key}": value}
    return flat


def spec_likeness(spec: Mapping[str, Any], expected: Mapping[str, Any]) -> int:
    flat = spec_leaves(spec)
    return sum(flat.get(path) == value for path, value in expected.items())
