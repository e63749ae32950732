"""How long a study will take on the workers there are now, and what it would send over a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Max

from experiments.models import Device, Run, RunState
from experiments.selectors.pace import Measured, measured_runs
from experiments.services.calibration import calibrate
from experiments.services.fleet import living_workers
from experiments.services.speeds import MARGINS, Basis, Range, Speeds
from workers.spec import PlannedRun, RunSpec
from workers.spec.work import round_bytes

REMEMBERED = 20
Cells = Sequence[tuple[RunSpec, int]]


@dataclass(frozen=True)
class Estimate:
    """`workers` that may take the runs now; with none, the seconds are those of one. `basis` is the weakest used."""

    low_seconds: float
    high_seconds: float
    workers: int
    basis: Basis


def cells_of(runs: Sequence[PlannedRun]) -> Cells:
    """One spec for each cell, with its number of runs: seeds cost the same."""
    counts = Counter(run.cell for run in runs)
    return [(spec, counts[cell]) for cell, spec in {run.cell: run.spec for run in reversed(runs)}.items()]


def speeds_for(cells: Cells) -> Speeds:
    specs = [spec for spec, _ in cells]
    names = tuple(
        tuple(sorted({getattr(spec, kind).name for spec in specs})) for kind in ("dataset", "model", "strategy")
    )
    return Speeds(remembered(*names))


def remembered(datasets: Sequence[str], models: Sequence[str], strategies: Sequence[str]) -> list[Measured]:
    """Read again when a newer run is done, or after some seconds: a person who types asks several times a second."""
    newest = Run.objects.filter(state=RunState.DONE).aggregate(newest=Max("pk"))["newest"]
    key = f"pace-{hash((newest, datasets, models, strategies))}"
    found: list[Measured] | None = cache.get(key)
    if found is None:
        found = measured_runs(datasets=datasets, models=models, strategies=strategies)
        cache.set(key, found, REMEMBERED)
    return found


def study_estimate(*, cells: Cells, speeds: Speeds, requires: str) -> Estimate:
    workers = sum(1 for each in living_workers() if requires == Device.CPU or each.device != "cpu")
    seconds = [(speeds.seconds(spec), count) for spec, count in cells]
    return Estimate(
        low_seconds=wall([(each.low, count) for each, count in seconds], max(1, workers)),
        high_seconds=wall([(each.high, count) for each, count in seconds], max(1, workers)),
        workers=workers,
        basis=weakest([each for each, _ in seconds]),
    )


def wall(seconds: Sequence[tuple[float, int]], workers: int) -> float:
    """Shared out evenly, but no shorter than the longest run."""
    total = sum(each * count for each, count in seconds)
    return round(max([total / workers, *(each for each, _ in seconds)]), 1)


def weakest(ranges: Sequence[Range]) -> Basis:
    used = {each.basis for each in ranges}
    return next((basis for basis in reversed(MARGINS) if basis in used), "measured")


def calibrate_unknown(cells: Cells, speeds: Speeds) -> bool:
    """Tries the models nothing is known of, those with most work first; True where something was learnt."""
    guessed = [(speeds.seconds(spec).high * count, spec) for spec, count in cells]
    ordered = [spec for _, spec in sorted(guessed, key=lambda each: -each[0])]
    return calibrate(spec for spec in ordered if speeds.step(spec)[1].basis == "guessed")


def study_bytes(*, cells: Cells, speeds: Speeds) -> int:
    """All that clients and server would send each other in all runs, reused ones too."""
    return round(
        sum(round_bytes(spec) * spec.rounds * count * speeds.more_bytes(spec.strategy.name) for spec, count in cells)
    )
