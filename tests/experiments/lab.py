"""Studies as launched, and numbers written by hand, for tests of pages and reads."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from experiments.logged_runs.services import LoggedRound, LoggedStart, logged_rounds_record, logged_run_start
from experiments.models import Round, Run, RunState, Study, User
from experiments.result_imports.services import SourceRun, results_import
from experiments.results.services.curves import values_write
from experiments.studies.services.launch import study_launch

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}],
    "rounds": 2,
    "clients": 3,
    "seeds": 3,
}


APP_BLOCK: dict[str, Any] = {
    "app": {
        "name": "numpy-least-squares",
        "config": {"learning-rate": [0.01, 0.1, 1.0], "num-server-rounds": 2},
        "clients": 4,
    },
    "seeds": 3,
}


def launched_app(owner: User, name: str = "Learning rates", **changes: Any) -> Study:
    """Needs the example apps (the fixture `apps`); for GPU workers, as below."""
    block = {**APP_BLOCK, "app": {**APP_BLOCK["app"], **changes}}
    return study_launch(owner=owner, name=name, blocks=[block], requires="gpu")


def launched(owner: User, name: str = "Two strategies", **changes: Any) -> Study:
    """For GPU workers, of which there are none here: only the test touches the runs."""
    return study_launch(owner=owner, name=name, blocks=[{**BLOCK, **changes}], requires="gpu")


def runs_in_order(study: Study) -> list[Run]:
    return list(study.runs.order_by("memberships__position"))


def record(run: Run, metrics: Mapping[str, Sequence[float]], state: RunState | None = None) -> Run:
    """Writes each metric's values as rounds 0, 1, 2 ... and moves the run to that state."""
    rounds = max(len(values) for values in metrics.values())
    values_write((run.pk, index, name, value) for name, values in metrics.items() for index, value in enumerate(values))
    Round.objects.bulk_create(Round(run=run, round=index, cohort=[0, 1]) for index in range(rounds))
    run.rounds_done = rounds - 1
    return moved(run, state or RunState.DONE)


def moved(run: Run, state: RunState, reason: str = "") -> Run:
    run.state, run.reason = state, reason
    run.started = run.started or (NOON if state != RunState.QUEUED else None)
    running = state == RunState.RUNNING
    run.lease_token, run.lease_until = (uuid.uuid4(), NOON) if running else (None, None)
    run.finished = None if state in (RunState.QUEUED, RunState.RUNNING) else NOON.replace(second=30)
    run.save()
    return run


def imported(owner: User) -> Study:
    """A study with one run that another tool computed."""
    source = SourceRun("Old", "a", {"mu": 0.1}, 0, [LoggedRound(1, {"accuracy": 0.5})])
    (run,) = results_import(owner=owner, kind="csv", source="old.csv", runs=[source])
    return Study.objects.get(pk=run.holder)


def logged(owner: User) -> Study:
    """A study with one run that a script is telling."""
    start = LoggedStart(study="My own loop", script="train.py", config={"mu": 0.1}, seed=0, key="a", provenance={})
    run, study, _ = logged_run_start(owner=owner, start=start)
    logged_rounds_record(actor=owner, run=run, rounds=[LoggedRound(1, {"accuracy": 0.5})])
    return study
