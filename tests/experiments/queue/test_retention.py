from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from pytest_django import Settings

from experiments.models import Attempt, Run, RunState, User
from experiments.queue.services.retention import drafts_remove, retention_apply
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
