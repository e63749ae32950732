"""Published beside measured, number by number. Pure: cells and their curves in, rows out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.presets.preset import Final, OneRun, Over, Preset, Published, Saved
from experiments.presets.readings import Curves, sample_of, saved_percent
from experiments.statistics.intervals import Sample, paired_difference, t_half_width

NOT_IN_GRID = "This study has no such cell."
NOT_DONE = "No run of this cell is done yet."
NOT_READ = "The runs have no such number: they are shorter than the published ones, or never got there."
NOT_FINITE = "Every run of this cell diverged."


@dataclass(frozen=True)
class MeasuredCell:
    """A cell of a study: its spec as resolved, and the curves of its finished runs by seed."""

    spec: Mapping[str, Any]
    runs: Mapping[int, Curves]


@dataclass(frozen=True)
class Row:
    """One published number and what was measured; `reason` says why it cannot be compared."""

    published: Published
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str = ""
    spec: Mapping[str, Any] | None = None

    @property
    def difference(self) -> float | None:
        return None if self.mean is None else self.mean - self.published.value

    @property
    def inside(self) -> bool | None:
        """Whether the published value lies in the interval; None where there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.published.value <= self.high


def compare(
    preset: Preset,
    cells: Sequence[MeasuredCell],
    reference: Sequence[Mapping[str, Any]],
    why_absent: Callable[[Mapping[str, Any]], str | None],
) -> list[Row]:
    """`reference` has the specs of the full scale: of several cells that match, the one most like it counts.

    `why_absent` tells of a `match` why it could not be run at all, such as data that are not here.
    """
    finder = Finder(cells, reference, why_absent)
    return [row(each, finder) for each in preset.published]


@dataclass(frozen=True)
class Finder:
    cells: Sequence[MeasuredCell]
    reference: Sequence[Mapping[str, Any]]
    why_absent: Callable[[Mapping[str, Any]], str | None]

    def all(self, match: Mapping[str, Any]) -> list[MeasuredCell]:
        return [cell for cell in self.cells if matches(cell.spec, match)]

    def one(self, match: Mapping[str, Any]) -> MeasuredCell | None:
        found = self.all(match)
        wanted = next((leaves(spec) for spec in self.reference if matches(spec, match)), {})
        return max(found, key=lambda cell: likeness(cell.spec, wanted), default=None)

    def missing(self, match: Mapping[str, Any]) -> str:
        return self.why_absent(match) or NOT_IN_GRID


def row(published: Published, finder: Finder) -> Row:
    reading = published.reading
    if isinstance(reading, Saved) or (isinstance(reading, Final) and reading.of == "difference"):
        return pair_row(published, finder)
    if isinstance(reading, Final) and reading.of == "best-cell":
        return best_cell_row(published, finder)
    cell = finder.one(published.match)
    return Row(published, reason=finder.missing(published.match)) if cell is None else measured(published, cell)


def measured(published: Published, cell: MeasuredCell) -> Row:
    if not cell.runs:
        return Row(published, reason=NOT_DONE, spec=cell.spec)
    assert isinstance(published.reading, OneRun)
    return of_sample(published, sample_of(published.reading, cell.runs, scale_of(published)), cell.spec)


def of_sample(published: Published, sample: Sample, spec: Mapping[str, Any]) -> Row:
    if sample.mean is None:
        return Row(published, reason=NOT_FINITE if sample.lost else NOT_READ, spec=spec)
    half = t_half_width(sample.std, sample.n)
    low, high = (None, None) if half is None else (sample.mean - half, sample.mean + half)
    return Row(published, sample.mean, low, high, sample.n, spec=spec)


def best_cell_row(published: Published, finder: Finder) -> Row:
    rows = [measured(published, cell) for cell in finder.all(published.match)]
    found = [each for each in rows if each.mean is not None]
    if not rows:
        return Row(published, reason=finder.missing(published.match))
    return max(found, key=lambda each: each.mean or 0.0) if found else rows[0]


def pair_row(published: Published, finder: Finder) -> Row:
    """A number about two cells: the difference of their last values over common seeds, or the bytes saved."""
    against = published.against or {}
    ours, theirs = finder.one(published.match), finder.one(against)
    if ours is None or theirs is None:
        return Row(published, reason=finder.missing(published.match if ours is None else against))
    if not ours.runs or not theirs.runs:
        return Row(published, reason=NOT_DONE, spec=ours.spec)
    if isinstance(published.reading, Saved):
        saved = saved_percent(ours.runs, theirs.runs, worst=published.reading.worst)
        return (
            Row(published, reason=NOT_READ)
            if saved is None
            else Row(published, saved, n=len(ours.runs), spec=ours.spec)
        )
    reading = Final(take="final")
    found = paired_difference(*(sample_of(reading, cell.runs, scale_of(published)) for cell in (ours, theirs)))
    if found is None:
        return Row(published, reason=NOT_READ, spec=ours.spec)
    return Row(published, found.mean, found.low, found.high, found.n, spec=ours.spec)


def scale_of(published: Published) -> float:
    """Accuracies are printed in percent (differences in points), so a variance is in percent squared."""
    if published.unit not in ("percent", "points"):
        return 1.0
    squared = isinstance(published.reading, Over) and published.reading.take == "variance"
    return 100.0**2 if squared else 100.0


def matches(spec: Mapping[str, Any], match: Mapping[str, Any]) -> bool:
    """Every field of `match`, at any depth, has that value in the spec."""
    return all(
        matches(spec.get(key) or {}, wanted) if isinstance(wanted, Mapping) else spec.get(key) == wanted
        for key, wanted in match.items()
    )


def leaves(spec: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in spec.items():
        found |= leaves(value, f"{path}{key}.") if isinstance(value, Mapping) else {f"{path}{key}": value}
    return found


def likeness(spec: Mapping[str, Any], wanted: Mapping[str, Any]) -> int:
    own = leaves(spec)
    return sum(own.get(path) == value for path, value in wanted.items())
