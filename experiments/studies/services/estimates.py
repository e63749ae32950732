"""How long a study will take on the workers there are now, and what it would send over a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from django.core.cache import cache
from django.db.models import Max

from experiments.models import Device, Run, RunState
from experiments.queue.selectors.workers import living_workers
from experiments.studies.selectors.run_speeds import Kind, Measured, measured_runs
from experiments.studies.services.calibration import calibrate, kept_step
from workers.errors import TributaryError
from workers.spec import PlannedRun, RunSpec, parse_run
from workers.spec.work import client_steps, parameter_count, round_bytes

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


Basis = Literal["measured", "calibrated", "guessed"]
FORWARD = 0.35
"""Evaluating a sample costs about a third of training on it."""
STARTING = 1.0
"""Seconds of a run outside of its rounds, where none was measured."""
FLOPS, STEP = 5e9, 5e-4
MARGINS: dict[Basis, tuple[float, float]] = {"measured": (0.85, 1.2), "calibrated": (0.6, 1.6), "guessed": (0.2, 5)}


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    basis: Basis

    def times(self, low: float, high: float) -> Range:
        return Range(self.low * low, self.high * high, self.basis)


@dataclass(frozen=True)
class Witness:
    """A done run, and what its spec alone would have foretold of it."""

    run: Measured
    cohort: int
    steps: float
    bytes: float

    @property
    def step(self) -> float:
        return self.run.train / (self.run.steps or self.steps)


def witnesses(runs: Iterable[Measured]) -> list[Witness]:
    found = []
    for run in runs:
        try:
            spec = parse_run(run.spec)
        except TributaryError:
            # Made by a component that is no longer here, or by rules that were stricter since.
            continue
        found.append(Witness(run, spec.cohort_size, client_steps(spec) * run.rounds, round_bytes(spec) * run.rounds))
    return found


class Speeds:
    def __init__(self, runs: Iterable[Measured]) -> None:
        self.all = witnesses(runs)
        self.known: dict[tuple[Kind, int], tuple[Sequence[Witness], Range]] = {}
        self.ratios: dict[tuple[str, str], float] = {}

    def seconds(self, spec: RunSpec) -> Range:
        """Of one whole run on one worker."""
        alike, step = self.step(spec)
        steps = client_steps(spec) * spec.rounds * self.more_steps(spec.strategy.name)
        rounds, outside = self.beside(spec, alike, step) * spec.rounds, self.outside(alike)
        low, high = MARGINS[step.basis]
        return Range(step.low * steps + rounds + outside, step.high * steps + rounds + outside, step.basis).times(
            low, high
        )

    def step(self, spec: RunSpec) -> tuple[Sequence[Witness], Range]:
        key = kind_of(spec), spec.cohort_size
        if key not in self.known:
            self.known[key] = self.looked_up(spec, *key)
        return self.known[key]

    def looked_up(self, spec: RunSpec, kind: Kind, cohort: int) -> tuple[Sequence[Witness], Range]:
        alike = closest(self.all, kind, cohort)
        if alike:
            return alike, spread(alike, kind)
        if step := kept_step(spec):
            return (), Range(step, step, "calibrated")
        guess = STEP + 6 * parameter_count(spec) * spec.local.batch_size / FLOPS
        return (), Range(guess, guess, "guessed")

    def more_steps(self, strategy: str) -> float:
        """A strategy may take other steps than FedAvg's, such as one over all samples: as measured."""
        return self.ratio(strategy, "steps")

    def more_bytes(self, strategy: str) -> float:
        """And it may send more than the model."""
        return self.ratio(strategy, "bytes")

    def ratio(self, strategy: str, what: str) -> float:
        """Measured to foretold, in runs of that strategy; 1 where there are none."""
        if (strategy, what) not in self.ratios:
            own = [
                (getattr(each.run, what), getattr(each, what))
                for each in self.all
                if each.run.kind.strategy == strategy
            ]
            found = [measured / foretold for measured, foretold in own if measured and foretold]
            self.ratios[strategy, what] = median(found) if found else 1.0
        return self.ratios[strategy, what]

    @staticmethod
    def beside(spec: RunSpec, alike: Sequence[Witness], step: Range) -> float:
        """Aggregation and evaluation of one round."""
        if alike:
            return median(each.run.beside / each.run.rounds for each in alike)
        evaluated = spec.dataset_facts.test or spec.dataset_facts.train * spec.evaluation.held_out
        return step.high * FORWARD * evaluated / spec.local.batch_size / spec.evaluation.every

    @staticmethod
    def outside(alike: Sequence[Witness]) -> float:
        return median(each.run.outside for each in alike) if alike else STARTING


def kind_of(spec: RunSpec) -> Kind:
    return Kind(spec.dataset.name, spec.model.name, spec.strategy.name, spec.local.batch_size)


def closest(runs: Sequence[Witness], kind: Kind, cohort: int) -> list[Witness]:
    """The same model on the same data; if there are any, with the same batch size, strategy and a like cohort."""
    found = [each for each in runs if (each.run.kind.dataset, each.run.kind.model) == (kind.dataset, kind.model)]
    found = [each for each in found if each.step > 0]
    found = [each for each in found if each.run.kind.batch_size == kind.batch_size] or found
    found = [each for each in found if each.run.kind.strategy == kind.strategy] or found
    return [each for each in found if 0.5 <= each.cohort / cohort <= 2] or found


def spread(alike: Sequence[Witness], kind: Kind) -> Range:
    """From the quicker to the slower ones. Another batch size costs between as much per step and as much per sample."""
    scales = [kind.batch_size / each.run.kind.batch_size for each in alike]
    low = sorted(each.step * min(1.0, scale) for each, scale in zip(alike, scales, strict=True))
    high = sorted(each.step * max(1.0, scale) for each, scale in zip(alike, scales, strict=True))
    return Range(low[len(low) // 10], high[-1 - len(high) // 10], "measured")
