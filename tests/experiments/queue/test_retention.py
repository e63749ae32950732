from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from experiments.models import Attempt, Round, Run, RunState, User
from experiments.queue.services.retention import client_numbers_drop, drafts_remove, retention_apply, sessions_remove
from experiments.results.services.curves import values_write
from tests.experiments.lab import NOON, launched, moved, runs_in_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(owner: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[Run]:
    """Old and failed, young and failed, old and cancelled, at work, done; each with a checkpoint, a log and a model."""
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    settings.KEEP_CHECKPOINTS, settings.KEEP_LOGS = 30, 365
    runs = runs_in_order(launched(owner))
    ages = {0: 31, 1: 29, 2: 366, 4: 366}
    states = (RunState.FAILED, RunState.FAILED, RunState.CANCELLED, RunState.RUNNING, RunState.DONE)
    for number, state in enumerate(states):
        run = moved(runs[number], state)
        for name in ("checkpoints/round-00000001.x/state.json", "log.txt", "artifacts/x/model.safetensors"):
            path = tmp_path / "runs" / str(run.pk) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("{}")
        Attempt.objects.create(
            run=run, number=1, token=uuid4(), worker="w", started=NOON, checkpoint="here", checkpoint_round=1
        )
        if number in ages:
            Run.objects.filter(pk=run.pk).update(finished=Now() - timedelta(days=ages[number]))
    return runs


def having(home: Path, name: str, runs: list[Run]) -> list[int]:
    return [number for number, run in enumerate(runs) if (home / "runs" / str(run.pk) / name).exists()]


def test_old_checkpoints_and_logs_of_finished_runs_go_and_models_stay(lab: list[Run], tmp_path: Path) -> None:
    assert retention_apply() == 5
    assert having(tmp_path, "checkpoints", lab) == [1, 3]
    assert having(tmp_path, "log.txt", lab) == [0, 1, 3]
    assert having(tmp_path, "artifacts/x/model.safetensors", lab) == [0, 1, 2, 3, 4]
    attempts = Attempt.objects.exclude(checkpoint="").order_by("run").values_list("run", "checkpoint_round")
    assert list(attempts) == [(lab[1].pk, 1), (lab[3].pk, 1)]
    assert retention_apply() == 0


def test_zero_days_keep_everything(lab: list[Run], tmp_path: Path, settings: Settings) -> None:
    settings.KEEP_CHECKPOINTS = settings.KEEP_LOGS = 0
    assert retention_apply() == 0
    assert having(tmp_path, "log.txt", lab) == [0, 1, 2, 3, 4]


@pytest.fixture
def measured(owner: User) -> list[Run]:
    """Ended a year ago, last month, and at work; clients evaluated in the even rounds of five."""
    runs = runs_in_order(launched(owner))[:3]
    for run, state in zip(runs, (RunState.DONE, RunState.FAILED, RunState.RUNNING), strict=True):
        moved(run, state)
        Round.objects.bulk_create(
            Round(run=run, round=number, cohort=[0, 4], clients={"4": {"train_loss": number / 8}} if number else {})
            for number in range(6)
        )
        values_write((run.pk, number, "client_accuracy_mean", 0.5) for number in (0, 2, 4))
    for run, days in zip(runs, (365, 30), strict=False):
        Run.objects.filter(pk=run.pk).update(finished=Now() - timedelta(days=days))
    return runs


def rounds_with_clients(run: Run) -> list[int]:
    return list(Round.objects.filter(run=run).exclude(clients={}).order_by("round").values_list("round", flat=True))


def test_numbers_of_single_clients_stay_unless_a_time_is_set(measured: list[Run]) -> None:
    assert client_numbers_drop() == 0
    assert [rounds_with_clients(run) for run in measured] == [[1, 2, 3, 4, 5]] * 3


def test_of_old_runs_the_last_evaluation_and_the_last_round_keep_their_clients(
    measured: list[Run], settings: Settings
) -> None:
    settings.KEEP_CLIENTS = 60
    assert client_numbers_drop() == 1
    assert [rounds_with_clients(run) for run in measured] == [[4, 5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]
    assert Round.objects.get(run=measured[0], round=5).clients == {"4": {"train_loss": 0.625}}
    assert Round.objects.get(run=measured[0], round=2).cohort == [0, 4]
    settings.KEEP_CLIENTS = 29
    assert (client_numbers_drop(), client_numbers_drop()) == (1, 0)
    assert [len(rounds_with_clients(run)) for run in measured] == [2, 2, 5]


def test_what_a_killed_process_began_to_write_goes_after_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    young, *old = (
        tmp_path / name
        for name in ("datasets/npz/.a.part", "datasets/npz/.b.part", "apps/mine/.draft-x/app.py", "portraits/.c")
    )
    kept = tmp_path / "datasets/npz/own.npz"
    long_ago = time.time() - 3601
    for path in (young, kept, *old):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for path in (kept, *old, *(each.parent for each in old)):
        os.utime(path, (long_ago, long_ago))
    assert drafts_remove() == 3
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == [young, kept]


def test_sessions_that_have_ended_leave_the_database(db: None) -> None:
    for name, days in (("ended", -1), ("goes-on", 1)):
        expire = timezone.now() + timedelta(days=days)
        Session.objects.create(session_key=name, session_data="", expire_date=expire)
    assert sessions_remove() == 1
    assert Session.objects.get().session_key == "goes-on"
