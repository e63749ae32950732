"""Flower apps through the queue: a real worker, a real database, an app's process that is killed, and hostile ones."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from experiments.models import Metric, Outcome, Role, Round, Run, RunState, User
from experiments.studies.services.changes import study_cancel
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, eventually
from tests.workers.apps.driver import example, processes_with, run_app
from workers.apps.leftovers import MARK
from workers.apps.library import version_folder
from workers.home import log_file, run_folder

pytestmark = pytest.mark.django_db(transaction=True)
APPS = Path(__file__).parents[1] / "apps"


@pytest.fixture
def owner() -> User:
    return User.objects.create(username="owner", role=Role.MEMBER)


@pytest.fixture(autouse=True)
def apps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_APPS", os.pathsep.join([str(APPS / "examples"), str(APPS / "hostile")]))


def launch(owner: User, name: str, *, seed: int = 0, **config: Any) -> Run:
    block = {"app": {"name": name, "config": config, "clients": 5}, "seed": seed}
    return study_launch(owner=owner, name=name, blocks=[block]).runs.get()


def ended(run: Run, state: str) -> Run:
    eventually(lambda: Run.objects.filter(pk=run.pk, state=state).exists())
    run.refresh_from_db()
    return run


def stored(run: Run) -> dict[int, dict[str, str]]:
    rounds: dict[int, dict[str, str]] = {}
    for number, name, value in Metric.objects.filter(run=run).values_list("round", "name", "value"):
        if name != "seconds":
            rounds.setdefault(number, {})[name] = repr(value)
    return rounds


def app_process(run: Run) -> int:
    """The run's process by its mark: no other of this machine's has it."""
    token = Run.objects.values_list("lease_token", flat=True).get(pk=run.pk)
    assert token is not None
    return min(processes_with(token.hex))


def test_an_app_runs_through_the_queue_with_the_numbers_of_its_process(
    live_platform: LivePlatform, owner: User, tmp_path: Path
) -> None:
    run = ended(launch(owner, "writes-files", seed=3), RunState.DONE)
    alone = run_app(example("writes-files"), tmp_path, seed=3)
    assert stored(run) == {number: metrics for number, (metrics, _, _) in alone.numbers.items()}
    assert (run.engine, run.rounds_done, run.rounds_total) == ("flower", 3, 3)
    assert run.provenance["app_hash"] == example("writes-files").hash
    assert list(Round.objects.filter(run=run, round=1).values_list("cohort", flat=True)) == [[0, 1, 2, 3, 4]]
    assert (run_folder(run.pk).parent.parent / run.artifact).parent.joinpath("files", "history.csv").is_file()
    assert "writes-files 1.0.0" in log_file(run.pk).read_text()


def test_a_killed_app_goes_on_and_every_round_is_there_once(
    live_platform: LivePlatform, owner: User, tmp_path: Path
) -> None:
    config = {"num-server-rounds": 80}
    run = launch(owner, "numpy-global-random", seed=2, **config)
    eventually(lambda: Run.objects.filter(pk=run.pk, rounds_done__gte=5).exists())
    os.kill(app_process(run), signal.SIGKILL)
    run = ended(run, RunState.DONE)
    assert [attempt.outcome for attempt in run.attempts.all()] == [Outcome.CRASHED, Outcome.DONE]
    assert "Resumed: " in log_file(run.pk).read_text()
    alone = run_app(example("numpy-global-random"), tmp_path, seed=2, config=config)
    assert stored(run) == {number: metrics for number, (metrics, _, _) in alone.numbers.items()}


def test_a_cancelled_app_leaves_no_process(live_platform: LivePlatform, owner: User) -> None:
    run = launch(owner, "forks", **{"num-server-rounds": 1_000})
    eventually(lambda: Run.objects.filter(pk=run.pk, rounds_done__gte=2).exists())
    token = Run.objects.values_list("lease_token", flat=True).get(pk=run.pk)
    study_cancel(study=run.studies.get(), actor=owner)
    ended(run, RunState.CANCELLED)
    assert token is not None
    eventually(lambda: processes_with(token.hex) == [])
    assert psutil.pid_exists(live_platform.processes["worker-1"].pid)


def test_hostile_apps_fail_with_a_reason_and_the_worker_goes_on(live_platform: LivePlatform, owner: User) -> None:
    reasons = {
        "raises-on-import": "The app's serverapp cannot be imported: RuntimeError: This app cannot be imported.",
        "exits": "The run's process ended with code 3.",
    }
    runs = {name: launch(owner, name) for name in reasons}
    after = launch(owner, "numpy-least-squares")
    ended(after, RunState.DONE)
    for name, reason in reasons.items():
        assert ended(runs[name], RunState.FAILED).reason.startswith(reason)


def test_an_app_never_gets_the_workers_secrets(live_platform: LivePlatform, owner: User) -> None:
    run = launch(owner, "hangs")
    eventually(lambda: Run.objects.filter(pk=run.pk, state=RunState.RUNNING).exists())
    eventually(lambda: bool(processes_with(Run.objects.get(pk=run.pk).lease_token.hex)))
    environment = psutil.Process(app_process(run)).environ()
    worker = psutil.Process(live_platform.processes["worker-1"].pid).environ()
    assert {"DATABASE_URL", "REDIS_URL"} <= set(worker)
    assert not {"DATABASE_URL", "REDIS_URL", "SECRET_KEY"} & set(environment)
    assert environment[MARK]
    study_cancel(study=run.studies.get(), actor=owner)
    ended(run, RunState.CANCELLED)


def test_a_version_that_was_changed_after_its_launch_is_not_run(live_platform: LivePlatform, owner: User) -> None:
    name = "client-state"
    block = {"app": {"name": name, "clients": 3}, "seed": 11}
    study = study_launch(owner=owner, name="Changed", blocks=[block], requires="gpu")
    run = study.runs.get()
    folder = version_folder(name, run.launch_sources["versions"]["app"])
    (folder / "README.md").write_text("changed")
    try:
        Run.objects.filter(pk=run.pk).update(requires="cpu")
        type(study).objects.filter(pk=study.pk).update(requires="cpu")
        assert "were changed after its launch: relaunch" in ended(run, RunState.FAILED).reason
    finally:
        (folder / "README.md").unlink()
