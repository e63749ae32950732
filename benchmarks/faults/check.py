"""What must be true after any fault: everything stored once and equal to the bit, and nothing left hanging."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import torch
from django.db.models import Q
from django.db.models.functions import Now
from safetensors.numpy import load_file

from benchmarks.faults.trial import Trial
from experiments.core.json_values import json_safe
from experiments.models import Attempt, Membership, Metric, Outcome, Round, Run, RunState
from experiments.results.selectors.files import MODEL, kept_files
from workers.engine import simulate
from workers.engine.records import Result, RoundRecord
from workers.home import checkpoint_folder
from workers.store.store import remote_store

Numbers = dict[tuple[int, str], str]


@cache
def simulate_undisturbed(spec: str) -> Result:
    """On one thread, as the workers have: another number of threads may round otherwise."""
    torch.set_num_threads(1)
    return simulate(json.loads(spec), device="cpu")


def reference_result(run: Run) -> Result:
    return simulate_undisturbed(json.dumps(run.spec, sort_keys=True))


def check_trial(trial: Trial) -> None:
    for run in Run.objects.filter(studies=trial.study):
        if run.pk not in trial.failing:
            check_run(trial, run)
        check_attempts(trial, run)
    check_nothing_hangs(trial)


def check_run(trial: Trial, run: Run) -> None:
    trial.demand(run.state == RunState.DONE, f"run {run.pk} is {run.state}: {run.reason}")
    if run.state == RunState.DONE:
        expected = reference_result(run)
        check_rounds(trial, run, expected.history)
        model = load_file(kept_files(run)[MODEL].path())
        same = model.keys() == expected.parameters.keys() and all(
            np.array_equal(model[name], array) for name, array in expected.parameters.items()
        )
        trial.demand(same, f"run {run.pk} has other parameters")
        # They go a moment after the run is done.
        trial.wait_for(lambda: not has_checkpoints(run), f"the checkpoints of run {run.pk} to go")


def has_checkpoints(run: Run) -> bool:
    store = remote_store()
    return checkpoint_folder(run.pk).exists() or (
        store is not None and "checkpoints" in store.folders(f"runs/{run.pk}")
    )


def check_rounds(trial: Trial, run: Run, history: Iterable[RoundRecord]) -> None:
    """Every round once, with its numbers, its cohort and its clients."""
    expected = list(history)
    stored = list(Round.objects.filter(run=run).order_by("round").values_list("round", "cohort", "clients"))
    expected_rows = [(each.round, list(each.cohort), json_safe(each.clients)) for each in expected]
    numbers = [number for number, _, _ in stored]
    trial.demand(numbers == [each.round for each in expected], f"run {run.pk} has the rounds {numbers}")
    trial.demand(stored == expected_rows, f"run {run.pk} has other cohorts or clients")
    trial.demand(stored_curve(run) == history_curve(expected), f"run {run.pk} has another curve")


def stored_curve(run: Run) -> Numbers:
    rows = Metric.objects.filter(run=run).values_list("round", "name", "value")
    return {(number, name): repr(value) for number, name, value in rows if not is_time(name)}


def history_curve(history: Iterable[RoundRecord]) -> Numbers:
    return {
        (each.round, name): repr(float(value))
        for each in history
        for name, value in each.metrics.items()
        if not is_time(name)
    }


def is_time(name: str) -> bool:
    return name.startswith("seconds")


def check_attempts(trial: Trial, run: Run) -> None:
    attempts = list(run.attempts.order_by("number"))
    summary: list[Any] = [(each.number, each.outcome, each.reason) for each in attempts]
    numbered = [each.number for each in attempts] == list(range(1, len(attempts) + 1))
    trial.demand(numbered and all(each.ended for each in attempts), f"run {run.pk} has the attempts {summary}")
    silent = [each for each in attempts if each.outcome != Outcome.DONE and not each.reason]
    trial.demand(not silent, f"run {run.pk} has attempts without a reason: {summary}")
    disturbed = run.pk in trial.touched or (trial.struck is not None and trial.struck.run_id == run.pk)
    trial.demand(disturbed or len(attempts) == 1, f"run {run.pk} was not disturbed and has the attempts {summary}")


def check_nothing_hangs(trial: Trial) -> None:
    without_lease = Q(state=RunState.RUNNING) & ~Q(lease_until__gt=Now())
    trial.demand(not Run.objects.filter(without_lease).exists(), "a run is running without a living lease")
    trial.demand(not Membership.objects.filter(waiting=True).exists(), "a membership still waits")
    trial.demand(not Attempt.objects.filter(ended=None).exists(), "an attempt has no end")
    for name, process in trial.lab.platform.processes.items():
        trial.demand(process.poll() is None, f"{name} is gone")
