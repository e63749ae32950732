"""Runs that misbehave beside one that does not: a strategy of a plugin, on real workers with their limits."""

from __future__ import annotations

from benchmarks.faults.check import check_rounds, reference
from benchmarks.faults.trial import Trial
from experiments.models import Run, RunState

NAME = "misbehaves"


def strike_by(trial: Trial, how: str, reason: str) -> None:
    """In a random round; all before it is kept."""
    at = trial.random.randint(1, trial.block["rounds"] * 2 // 3)
    study = trial.launch(1, {**trial.block, "strategy": {"name": NAME, "how": how, "at": at}, "seeds": 1})
    run = study.runs.get(spec__strategy__name=NAME)
    trial.failing.add(run.pk)
    trial.wait_for(lambda: trial.far(run, at - 1))
    trial.strike_at(trial.wait_for(lambda: run.attempts.first()))
    trial.finish()
    run.refresh_from_db()
    told = run.state == RunState.FAILED and run.reason.startswith(reason)
    trial.demand(told, f"run {run.pk} is {run.state}: {run.reason}")
    sound = Run(pk=run.pk, spec={**run.spec, "strategy": {"name": "fedavg", "every": 1}})
    check_rounds(trial, run, reference(sound).history[:at])
