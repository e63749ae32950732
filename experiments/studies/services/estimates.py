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
from experiments.queue.selectors.workers import available_workers
from experiments.studies.selectors.run_timings import AppTiming, RunKind, RunTiming, app_timings, run_timings
from experiments.studies.services.calibration import calibration_request, saved_step
from workers.errors import TributaryError
from workers.spec import AnySpec, AppSpec, PlannedRun, RunSpec, parse_run
from workers.spec.workload import client_steps, parameter_count, round_bytes

CACHE_SECONDS = 20
PlannedCells = Sequence[tuple[AnySpec, int]]
EngineCells = Sequence[tuple[RunSpec, int]]
Basis = Literal["measured", "calibrated", "guessed"]
EVALUATION_SHARE = 0.35
"""Evaluating a sample costs about a third of training on it."""
STARTUP_SECONDS = 1.0
"""Seconds of a run outside of its rounds, where none was measured."""
GUESSED_FLOPS, GUESSED_STEP = 5e9, 5e-4
GUESSED_APP_ROUNDS, GUESSED_APP_CLIENT = 10, 0.02
"""Of an app nobody has run yet: rounds where its config does not say, and seconds of one client in one round."""
MARGINS: dict[Basis, tuple[float, float]] = {"measured": (0.85, 1.2), "calibrated": (0.6, 1.6), "guessed": (0.2, 5)}


@dataclass(frozen=True)
class Estimate:
    """`workers` that may take the runs now; with none, the seconds are those of one. `basis` is the weakest used.

    `other_runs` wait or run on these workers already, which the seconds allow for.
    """

    low_seconds: float
    high_seconds: float
    workers: int
    basis: Basis
    other_runs: int = 0


@dataclass(frozen=True)
class QueueLoad:
    """Seconds of one worker. A person's own earlier runs go before a new study; people take turns with each other."""

    runs: int = 0
    own_low: float = 0.0
    own_high: float = 0.0
    others_low: float = 0.0
    others_high: float = 0.0
    other_people: int = 0

    def added_low(self, seconds: float) -> float:
        """To work of that many seconds, at best: each of the others has done as much when it is done."""
        turns = self.other_people * (seconds + self.own_low)
        return self.own_low + min(self.others_low, turns)

    @property
    def added_high(self) -> float:
        """At worst, all of it comes first."""
        return self.own_high + self.others_high


def planned_cells(runs: Sequence[PlannedRun]) -> PlannedCells:
    """One spec for each cell, with its number of runs: seeds cost the same."""
    counts = Counter(run.cell for run in runs)
    return [(spec, counts[cell]) for cell, spec in {run.cell: run.spec for run in reversed(runs)}.items()]


def engine_cells(cells: PlannedCells) -> EngineCells:
    """Without those of apps, whose data, model and steps are their own business."""
    return [(spec, count) for spec, count in cells if isinstance(spec, RunSpec)]


def expected_device_type(requires: str) -> str:
    """The type of device that such runs would be computed on; of several the slowest, which is a CPU."""
    types = {each.device_type for each in available_workers()}
    if requires == Device.GPU:
        types = (types - {"cpu"}) or {"cuda"}
    return "cpu" if "cpu" in types else min(types, default="cpu")


def speed_model(cells: PlannedCells, device_type: str) -> SpeedModel:
    specs = [spec for spec, _ in engine_cells(cells)]
    names = tuple(
        tuple(sorted({getattr(spec, kind).name for spec in specs})) for kind in ("dataset", "model", "strategy")
    )
    apps = {spec.app.name for spec, _ in cells if isinstance(spec, AppSpec)}
    return SpeedModel(cached_run_timings(*names), device_type, app_timings(apps=apps) if apps else ())


def cached_run_timings(datasets: Sequence[str], models: Sequence[str], strategies: Sequence[str]) -> list[RunTiming]:
    """Read again when a newer run is done, or after some seconds: a person who types asks several times a second."""
    newest = Run.objects.filter(state=RunState.DONE).aggregate(newest=Max("pk"))["newest"]
    key = f"pace-{hash((newest, datasets, models, strategies))}"
    runs: list[RunTiming] | None = cache.get(key)
    if runs is None:
        runs = run_timings(datasets=datasets, models=models, strategies=strategies)
        cache.set(key, runs, CACHE_SECONDS)
    return runs


def study_estimate(*, cells: PlannedCells, speeds: SpeedModel, requires: str, load: QueueLoad) -> Estimate:
    workers = sum(1 for each in available_workers() if requires == Device.CPU or each.device_type != "cpu")
    seconds = [(speeds.seconds(spec), count) for spec, count in cells]
    lows, highs = ([(getattr(each, end), count) for each, count in seconds] for end in ("low", "high"))
    added_low = load.added_low(sum(each * count for each, count in lows))
    return Estimate(
        low_seconds=wall_seconds(lows, max(1, workers), added_low) if cells else 0.0,
        high_seconds=wall_seconds(highs, max(1, workers), load.added_high) if cells else 0.0,
        workers=workers,
        basis=weakest_basis([each for each, _ in seconds]),
        other_runs=load.runs,
    )


def wall_seconds(seconds: Sequence[tuple[float, int]], workers: int, added: float) -> float:
    """Shared out evenly, with what else there is to do, but no shorter than the longest run."""
    total = sum(each * count for each, count in seconds)
    return round(max([(total + added) / workers, *(each for each, _ in seconds)]), 1)


def weakest_basis(ranges: Sequence[SecondsRange]) -> Basis:
    used = {each.basis for each in ranges}
    return next((basis for basis in reversed(MARGINS) if basis in used), "measured")


def calibrate_unknown(cells: PlannedCells, speeds: SpeedModel) -> bool:
    """Asks for trials of the models nothing is known of, those with most work first; whether any is awaited."""
    guessed = [(speeds.seconds(spec).high * count, spec) for spec, count in engine_cells(cells)]
    ordered = [spec for _, spec in sorted(guessed, key=lambda each: -each[0])]
    unknown = (spec for spec in ordered if speeds.step_seconds(spec)[1].basis == "guessed")
    return calibration_request(unknown, speeds.device_type)


def study_bytes(*, cells: PlannedCells, speeds: SpeedModel) -> int:
    """All that clients and server would send each other in all runs, reused ones too."""
    return round(sum(speeds.bytes(spec) * count for spec, count in cells))


@dataclass(frozen=True)
class SecondsRange:
    low: float
    high: float
    basis: Basis

    def times(self, low: float, high: float) -> SecondsRange:
        return SecondsRange(self.low * low, self.high * high, self.basis)


@dataclass(frozen=True)
class ReferenceRun:
    """A done run, and what its spec alone would have predicted."""

    run: RunTiming
    cohort: int
    steps: float
    bytes: float

    @property
    def step_seconds(self) -> float:
        return self.run.train_seconds / (self.run.steps or self.steps)


def reference_runs(runs: Iterable[RunTiming]) -> list[ReferenceRun]:
    references = []
    for run in runs:
        try:
            spec = parse_run(run.spec)
        except TributaryError:
            # Made by a component that is no longer here, or by rules that were stricter since.
            continue
        references.append(
            ReferenceRun(run, spec.cohort_size, client_steps(spec) * run.rounds, round_bytes(spec) * run.rounds)
        )
    return references


class SpeedModel:
    """Of runs on one type of device: only such runs tell how fast they are."""

    def __init__(self, runs: Iterable[RunTiming], device_type: str = "cpu", app_runs: Iterable[AppTiming] = ()) -> None:
        self.references, self.device_type, self.app_runs = reference_runs(runs), device_type, list(app_runs)
        self.ranges: dict[tuple[RunKind, int], tuple[Sequence[ReferenceRun], SecondsRange]] = {}
        self.ratios: dict[tuple[str, str], float] = {}

    def seconds(self, spec: AnySpec) -> SecondsRange:
        """Of one whole run on one worker."""
        if isinstance(spec, AppSpec):
            return app_seconds(spec, like_app_runs(self.app_runs, spec))
        alike, step = self.step_seconds(spec)
        steps = client_steps(spec) * spec.rounds * self.more_steps(spec.strategy.name)
        rounds, startup = self.other_seconds(spec, alike, step) * spec.rounds, self.startup_seconds(alike)
        low, high = MARGINS[step.basis]
        return SecondsRange(
            step.low * steps + rounds + startup, step.high * steps + rounds + startup, step.basis
        ).times(low, high)

    def step_seconds(self, spec: RunSpec) -> tuple[Sequence[ReferenceRun], SecondsRange]:
        key = run_kind(spec, self.device_type), spec.cohort_size
        if key not in self.ranges:
            self.ranges[key] = self.find_step_seconds(spec, *key)
        return self.ranges[key]

    def find_step_seconds(
        self, spec: RunSpec, kind: RunKind, cohort: int
    ) -> tuple[Sequence[ReferenceRun], SecondsRange]:
        alike = closest_runs(self.references, kind, cohort)
        if alike:
            return alike, step_range(alike, kind)
        if step := saved_step(spec, self.device_type):
            return (), SecondsRange(step, step, "calibrated")
        guess = GUESSED_STEP + 6 * parameter_count(spec) * spec.local.batch_size / GUESSED_FLOPS
        return (), SecondsRange(guess, guess, "guessed")

    def bytes(self, spec: AnySpec) -> float:
        """Of one whole run; nothing is foreseen of an app that has not been run."""
        if isinstance(spec, AppSpec):
            alike = like_app_runs(self.app_runs, spec)
            return app_rounds(spec, alike) * median(each.bytes / each.rounds for each in alike) if alike else 0.0
        return round_bytes(spec) * spec.rounds * self.more_bytes(spec.strategy.name)

    def more_steps(self, strategy: str) -> float:
        """A strategy may take other steps than FedAvg's, such as one over all samples: as measured."""
        return self.ratio(strategy, "steps")

    def more_bytes(self, strategy: str) -> float:
        """And it may send more than the model."""
        return self.ratio(strategy, "bytes")

    def ratio(self, strategy: str, what: str) -> float:
        """Measured to predicted, in runs of that strategy; 1 where there are none."""
        if (strategy, what) not in self.ratios:
            pairs = [
                (getattr(each.run, what), getattr(each, what))
                for each in self.references
                if each.run.kind.strategy == strategy
            ]
            ratios = [measured / predicted for measured, predicted in pairs if measured and predicted]
            self.ratios[strategy, what] = median(ratios) if ratios else 1.0
        return self.ratios[strategy, what]

    @staticmethod
    def other_seconds(spec: RunSpec, alike: Sequence[ReferenceRun], step: SecondsRange) -> float:
        """Aggregation and evaluation of one round."""
        if alike:
            return median(each.run.other_seconds / each.run.rounds for each in alike)
        held_out = spec.dataset_facts.train * spec.evaluation.held_out
        samples_by_place = {"server": spec.dataset_facts.test or held_out, "clients": held_out}
        evaluated = samples_by_place.get(spec.evaluation.on, spec.dataset_facts.test + held_out)
        return step.high * EVALUATION_SHARE * evaluated / spec.local.batch_size / spec.evaluation.every

    @staticmethod
    def startup_seconds(alike: Sequence[ReferenceRun]) -> float:
        return median(each.run.startup_seconds for each in alike) if alike else STARTUP_SECONDS


def run_kind(spec: RunSpec, device_type: str) -> RunKind:
    return RunKind(spec.dataset.name, spec.model.name, spec.strategy.name, spec.local.batch_size, device_type)


def closest_runs(runs: Sequence[ReferenceRun], kind: RunKind, cohort: int) -> list[ReferenceRun]:
    """The same model on the same data and type of device.

    If there are any, with the same batch size, strategy and a like cohort.
    """
    candidates = [each for each in runs if (each.run.kind.dataset, each.run.kind.model) == (kind.dataset, kind.model)]
    candidates = [each for each in candidates if each.run.kind.device_type == kind.device_type]
    candidates = [each for each in candidates if each.step_seconds > 0]
    candidates = [each for each in candidates if each.run.kind.batch_size == kind.batch_size] or candidates
    candidates = [each for each in candidates if each.run.kind.strategy == kind.strategy] or candidates
    return [each for each in candidates if 0.5 <= each.cohort / cohort <= 2] or candidates


def step_range(alike: Sequence[ReferenceRun], kind: RunKind) -> SecondsRange:
    """From the quicker to the slower ones. Another batch size costs between as much per step and as much per sample."""
    scales = [kind.batch_size / each.run.kind.batch_size for each in alike]
    low = sorted(each.step_seconds * min(1.0, scale) for each, scale in zip(alike, scales, strict=True))
    high = sorted(each.step_seconds * max(1.0, scale) for each, scale in zip(alike, scales, strict=True))
    return SecondsRange(low[len(low) // 10], high[-1 - len(high) // 10], "measured")


def like_app_runs(runs: Sequence[AppTiming], spec: AppSpec) -> list[AppTiming]:
    """The same app; if there are any, with as many clients."""
    alike = [each for each in runs if each.name == spec.app.name]
    return [each for each in alike if each.clients == spec.app.clients] or alike


def app_rounds(spec: AppSpec, alike: Sequence[AppTiming]) -> float:
    """As its config says, or as many as such runs had."""
    return spec.rounds or (median(each.rounds for each in alike) if alike else GUESSED_APP_ROUNDS)


def app_seconds(spec: AppSpec, alike: Sequence[AppTiming]) -> SecondsRange:
    if alike:
        basis: Basis = "measured"
        each_round = median(each.seconds / each.rounds for each in alike)
        startup = median(each.startup_seconds for each in alike)
    else:
        basis, each_round, startup = "guessed", spec.app.clients * GUESSED_APP_CLIENT, STARTUP_SECONDS
    seconds = app_rounds(spec, alike) * each_round + startup
    return SecondsRange(seconds, seconds, basis).times(*MARGINS[basis])
