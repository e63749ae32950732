"""`engine: auto`: a few local steps each way on the run's own data, without side effects; the faster way is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

from workers.catalog import load_catalog
from workers.engine.data.federation import ClientData
from workers.engine.execution.executors import CohortPath, Path, SequentialPath, threads_given
from workers.engine.setup import Setup
from workers.engine.training.rule import ClientStore, LocalRule
from workers.engine.training.trainer import Assignment, Trainer

TRIAL_STEPS = 3
TRIAL_SECONDS = 3.0
"""About how long the stacked trial may take; a slow model is tried with fewer clients."""


def make_path(setup: Setup, engine: str) -> Path:
    """The path of that name; `auto` measures."""
    chosen = faster(setup) if engine == "auto" else engine
    return PATHS[chosen](setup.trainer)


def cohort_path(trainer: Trainer) -> Path:
    return CohortPath(trainer, threads_given())


def sequential_path(trainer: Trainer) -> Path:
    return SequentialPath(trainer, threads_given())


def ray_path(trainer: Trainer) -> Path:
    from workers.engine.execution.ray_backend import RayPath

    return RayPath(trainer)


PATHS: dict[str, Callable[[Trainer], Path]] = {"cohort": cohort_path, "sequential": sequential_path, "ray": ray_path}


def faster(setup: Setup) -> str:
    clients = [setup.participation.clients[index] for index in setup.participation.cohort(1)]
    alone = seconds_per_step(setup, sequential_path, clients[: 2 * threads_given()])
    some = max(2, int(TRIAL_SECONDS / (alone * TRIAL_STEPS)))
    stacked = seconds_per_step(setup, cohort_path, clients[:some])
    return "cohort" if stacked <= alone else "sequential"


def seconds_per_step(setup: Setup, make: Callable[[Trainer], Path], clients: Sequence[ClientData]) -> float:
    """Wall seconds per client and local step. Trains copies with a plain rule and a store that is thrown away."""
    classes = load_catalog().strategies[setup.spec.strategy.name].model_classes(setup.spec)
    samples = replace(setup.trainer.samples, y=setup.trainer.samples.y.clamp(max=classes - 1))
    trial = replace(setup.trainer, samples=samples, store=ClientStore(), rule=LocalRule(), most_steps=TRIAL_STEPS)
    path = make(trial)
    try:
        path.train(Assignment(1, clients, setup.initial))
        started = perf_counter()
        outcomes = path.train(Assignment(1, clients, setup.initial))
        seconds = perf_counter() - started
    finally:
        path.close()
    return seconds / max(1, sum(min(steps, TRIAL_STEPS) for outcome in outcomes for steps in outcome.steps))
