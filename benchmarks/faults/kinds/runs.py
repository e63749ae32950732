"""Faults of runs themselves, beside one that is sound: a strategy of a plugin, on real workers with their limits."""

from __future__ import annotations

from benchmarks.faults.check import check_rounds, reference_result
from benchmarks.faults.trial import Fault, Trial
from experiments.models import Run, RunState

STRATEGY = "misbehaves"


def strike_by_strategy(trial: Trial, how: str, reason: str) -> None:
    """In a random round; all before it is kept."""
    at = trial.random.randint(1, trial.block["rounds"] * 2 // 3)
    study = trial.launch(1, {**trial.block, "strategy": {"name": STRATEGY, "how": how, "at": at}, "seeds": 1})
    run = study.runs.get(spec__strategy__name=STRATEGY)
    trial.failing.add(run.pk)
    trial.wait_for(lambda: trial.is_far_enough(run, at - 1))
    trial.strike_at(trial.wait_for(lambda: run.attempts.first()))
    trial.wait_until_finished()
    run.refresh_from_db()
    as_promised = run.state == RunState.FAILED and run.reason.startswith(reason)
    trial.demand(as_promised, f"run {run.pk} is {run.state}: {run.reason}")
    sound = Run(pk=run.pk, spec={**run.spec, "strategy": {"name": "fedavg", "every": 1}})
    check_rounds(trial, run, reference_result(sound).history[:at])


def let_run_hang(trial: Trial) -> None:
    strike_by_strategy(trial, "hangs", "The run gave no sign for ")


RUN_HANGS = Fault(
    "run-hangs",
    "a run that hangs, beside one that does not",
    "it is ended and fails with the limit and its last words, keeping its rounds; its neighbour notices nothing",
    let_run_hang,
    ("failed",),
)


def let_run_leak(trial: Trial) -> None:
    strike_by_strategy(trial, "leaks", "The run used more than the ")


RUN_LEAKS = Fault(
    "run-leaks",
    "a run that takes more and more memory, beside one that does not",
    "as before",
    let_run_leak,
    ("failed",),
)
