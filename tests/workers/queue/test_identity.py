"""A run is computed under the identity it was launched with, or not at all: on real processes, with data that go."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from django.db import transaction

from experiments.models import Role, Run, RunState, Study, User
from experiments.queue.services.retry import run_retry
from experiments.studies.services.changes import study_pause, study_resume, study_retry
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, eventually
from workers.catalog import load_catalog
from workers.engine import simulate

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner() -> User:
    return User.objects.create(username="owner", role=Role.MEMBER)


def import_own(folder: Path, seed: int) -> str:
    """Own.npz, of the same shape whatever the seed; its checksum."""
    rng = np.random.default_rng(seed)
    path = folder / "own.npz"
    x, y = rng.random((240, 4)).astype(np.float32), np.arange(240) % 3
    np.savez(path, x=x[:200], y=y[:200], x_test=x[200:], y_test=y[200:])
    (manifest,) = load_catalog().datasets["npz"].import_path(str(path)).values()  # type: ignore[attr-defined]
    return str(manifest.checksum)


def block(**changes: Any) -> dict[str, Any]:
    fields = {
        "dataset": {"name": "npz", "file": "own"},
        "model": {"name": "mlp-50"},
        "strategy": {"name": "fedavg"},
        "clients": 5,
        "rounds": 3,
        "engine": "cohort",
    }
    return {**fields, **changes}


def launch_held_back(owner: User, **changes: Any) -> tuple[Study, Run]:
    with transaction.atomic():
        study = study_launch(owner=owner, name="Held back", blocks=[block(**changes)])
        study_pause(study=study, actor=owner)
    return study, study.runs.get()


def ended(run: Run) -> bool:
    run.refresh_from_db()
    return run.state in (RunState.DONE, RunState.FAILED)


def losses(run: Run) -> list[float]:
    return list(run.metrics.filter(name="loss").order_by("round").values_list("value", flat=True))


def runner_of(platform: LivePlatform) -> int:
    (runner,) = psutil.Process(platform.processes["worker-1"].pid).children()
    return runner.pid


def test_data_imported_again_between_launch_and_claim_are_not_computed_under_the_old_identity(
    live_platform: LivePlatform, owner: User, tmp_path: Path
) -> None:
    first = import_own(tmp_path, seed=1)
    study, run = launch_held_back(owner)
    second = import_own(tmp_path, seed=2)
    runner = runner_of(live_platform)
    study_resume(study=study, actor=owner)
    eventually(lambda: ended(run))
    assert runner_of(live_platform) == runner
    assert (run.state, run.reason) == (
        RunState.FAILED,
        f"The data set own.npz is not the one this run was launched with: its checksum is {second[:12]}, "
        f"not {first[:12]}. Relaunch to compute it with what is here now.",
    )
    assert run.rounds.count() == 0

    assert study_retry(study=study, actor=owner) == 1
    again = study.runs.get()
    eventually(lambda: ended(again))
    assert (again.state, again.hash == run.hash, again.cell == run.cell) == (RunState.DONE, False, False)
    assert again.provenance["data_checksum"] == second
    assert losses(again) == [record.metrics["loss"] for record in simulate(again.spec, device="cpu").history]


def test_data_replaced_in_the_middle_of_a_run_never_go_on_from_its_checkpoint(
    live_platform: LivePlatform, owner: User, tmp_path: Path
) -> None:
    first = import_own(tmp_path, seed=3)
    run = study_launch(owner=owner, name="Replaced", blocks=[block(rounds=20_000)]).runs.get()
    eventually(lambda: Run.objects.filter(pk=run.pk, rounds_done__gte=12).exists())
    second = import_own(tmp_path, seed=4)
    reached = Run.objects.get(pk=run.pk).rounds_done
    eventually(lambda: run.attempts.filter(checkpoint_round__gt=reached + 10).exists())
    os.kill(runner_of(live_platform), signal.SIGKILL)
    eventually(lambda: ended(run))
    assert run.state == RunState.FAILED
    assert f"its checksum is {second[:12]}, not {first[:12]}" in run.reason

    again = run_retry(run=run, actor=owner)
    assert (again.pk == run.pk, again.rounds_done, list(again.studies.values_list("name", flat=True))) == (
        False,
        0,
        ["Replaced"],
    )
    eventually(lambda: Run.objects.filter(pk=again.pk, rounds_done__gte=12).exists())
    again.refresh_from_db()
    expected = simulate({**again.spec, "rounds": 12}, device="cpu").history
    assert losses(again)[:13] == [record.metrics["loss"] for record in expected]


def test_a_run_whose_data_are_replaced_while_it_computes_ends_with_the_data_it_began_with(
    live_platform: LivePlatform, owner: User, tmp_path: Path
) -> None:
    first = import_own(tmp_path, seed=5)
    spec = block(rounds=300, local={"epochs": 2})
    expected = [record.metrics["loss"] for record in simulate(spec, device="cpu").history]
    run = study_launch(owner=owner, name="Undisturbed", blocks=[spec]).runs.get()
    eventually(lambda: Run.objects.filter(pk=run.pk, rounds_done__gte=12).exists())
    import_own(tmp_path, seed=6)
    eventually(lambda: ended(run))
    assert (run.state, run.provenance["data_checksum"]) == (RunState.DONE, first)
    assert losses(run) == expected
