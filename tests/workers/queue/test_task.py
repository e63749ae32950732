"""A real Celery worker with its runner, scheduler and web server, on real PostgreSQL and Redis."""

import os
import signal
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import psutil
import pytest
from django.test import Client
from safetensors.numpy import load_file

from experiments.models import Attempt, Outcome, Role, Round, Run, RunState, User
from experiments.studies.services.changes import study_cancel, study_pause, study_resume
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, eventually
from tests.workers.queue.runs import block, expected, far_enough, runner_of, state_of, stored, undisturbed
from workers.home import checkpoint_folder, home, log_file

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner() -> User:
    return User.objects.create(username="owner", role=Role.MEMBER)


def test_a_study_runs_and_its_numbers_equal_the_engines(live_platform: LivePlatform, owner: User) -> None:
    study = study_launch(owner=owner, name="Whole", blocks=[block(seed=[0, 1])])
    eventually(lambda: study.runs.filter(state=RunState.DONE).count() == 2)
    for run in study.runs.all():
        here = undisturbed(run)
        assert stored(run.pk) == expected(here)
        assert list(Round.objects.filter(run=run).order_by("round").values_list("cohort", flat=True)) == [
            list(each.cohort) for each in here.history
        ]
        assert (run.rounds_done, run.engine, run.provenance["engine"]) == (3, "cohort", "cohort")
        model = load_file(home() / run.artifact)
        assert all(np.array_equal(model[name], array) for name, array in here.parameters.items())
        assert log_file(run.pk).read_text().startswith("Attempt 1 on worker-1@")
        assert not checkpoint_folder(run.pk).exists()


def test_a_killed_runner_is_retried_and_every_round_is_there_once(live_platform: LivePlatform, owner: User) -> None:
    study = study_launch(owner=owner, name="Killed", blocks=[block(rounds=400, local={"epochs": 2})])
    run = study.runs.get()
    eventually(lambda: far_enough(run.pk, 12))
    os.kill(runner_of(live_platform), signal.SIGKILL)
    eventually(lambda: state_of(run.pk) == RunState.DONE)
    run.refresh_from_db()
    assert stored(run.pk) == expected(undisturbed(run))
    assert Round.objects.filter(run=run).count() == 401
    first, second = run.attempts.all()
    assert (first.outcome, second.outcome) == (Outcome.CRASHED, Outcome.DONE)
    assert "was killed by SIGKILL" in first.reason
    assert first.checkpoint_round >= 10


def test_a_runner_that_dies_between_two_runs_is_replaced(live_platform: LivePlatform) -> None:
    worker = psutil.Process(live_platform.processes["worker-1"].pid)
    runner = runner_of(live_platform)
    os.kill(runner, signal.SIGKILL)
    eventually(lambda: [each.pid for each in worker.children()] not in ([], [runner]), seconds=30)


def test_a_running_run_is_cancelled_within_seconds(live_platform: LivePlatform, owner: User) -> None:
    long, waiting = block(rounds=100_000), block(rounds=99_999)
    study = study_launch(owner=owner, name="Cancelled", blocks=[long, waiting])
    first, second = study.runs.order_by("memberships__position")
    eventually(lambda: far_enough(first.pk, 1))
    study_cancel(study=study, actor=owner)
    assert state_of(second.pk) == RunState.CANCELLED
    eventually(lambda: state_of(first.pk) == RunState.CANCELLED, seconds=10)
    assert psutil.pid_exists(runner_of(live_platform))


def test_a_paused_study_waits_and_a_resumed_one_goes_on(live_platform: LivePlatform, owner: User) -> None:
    study = study_launch(owner=owner, name="Paused", blocks=[block(rounds=100_000), block(rounds=2)])
    long, short = study.runs.order_by("memberships__position")
    eventually(lambda: far_enough(long.pk, 1))
    study_pause(study=study, actor=owner)
    Run.objects.filter(pk=long.pk).update(cancel_requested=True)
    eventually(lambda: state_of(long.pk) == RunState.CANCELLED)
    assert state_of(short.pk) == RunState.QUEUED
    study_resume(study=study, actor=owner)
    eventually(lambda: state_of(short.pk) == RunState.DONE)


def test_a_run_that_cannot_be_made_fails_with_its_reason(live_platform: LivePlatform, owner: User) -> None:
    impossible = block(clients=100, partition={"name": "label-dirichlet", "alpha": 0.01, "min_size": 14})
    run = study_launch(owner=owner, name="Impossible", blocks=[impossible]).runs.get()
    eventually(lambda: state_of(run.pk) == RunState.FAILED)
    run.refresh_from_db()
    assert run.reason
    assert "Traceback" in log_file(run.pk).read_text()
    assert run.attempts.get().outcome == Outcome.FAILED


def test_a_worker_that_is_asked_to_leave_hands_its_run_to_the_next(live_platform: LivePlatform, owner: User) -> None:
    run = study_launch(owner=owner, name="Moved", blocks=[block(rounds=1000, local={"epochs": 2})]).runs.get()
    eventually(lambda: far_enough(run.pk, 5))
    runner = runner_of(live_platform)
    live_platform.stop("worker-1")
    assert state_of(run.pk) == RunState.QUEUED
    assert not psutil.pid_exists(runner)
    left = run.attempts.get()
    assert left.outcome == Outcome.RELEASED
    assert (home() / left.checkpoint).exists()
    live_platform.start_worker()
    eventually(lambda: state_of(run.pk) == RunState.DONE)
    run.refresh_from_db()
    assert stored(run.pk) == expected(undisturbed(run))
    assert Round.objects.filter(run=run).count() == 1001


def test_a_worker_killed_with_short_runs_in_hand_loses_none_and_only_the_one_at_work_may_count(
    live_platform: LivePlatform, owner: User
) -> None:
    study = study_launch(owner=owner, name="Many", blocks=[block(rounds=20, seed=list(range(40)))])
    held = study.runs.filter(state=RunState.RUNNING, started=None)
    eventually(lambda: held.count() >= 5)
    live_platform.processes["worker-1"].kill()
    live_platform.stop("worker-1")
    assert held.exists()
    live_platform.start_worker()
    eventually(lambda: study.runs.filter(state=RunState.DONE).count() == 40)
    assert sorted(study.runs.values_list("crashes", flat=True))[:39] == [0] * 39
    attempts = Attempt.objects.filter(run__in=study.runs.all())
    assert attempts.filter(outcome=Outcome.DONE).count() == 40
    assert attempts.filter(outcome=Outcome.LOST).count() <= 1
    assert Round.objects.filter(run__in=study.runs.all()).count() == 840
    twice = study.runs.filter(attempts__number=2).order_by("-pk").first() or study.runs.latest("pk")
    assert stored(twice.pk) == expected(undisturbed(twice))


PAGES = ("/", "/studies/new", "/queue", "/compare", "/data-sets", "/workers", "/studies/{study}", "/runs/{run}")
ROUTES = (
    "/api/v1/catalog",
    "/api/v1/docs",
    "/api/v1/openapi.json",
    "/api/v1/studies",
    "/api/v1/studies/{study}",
    "/api/v1/metrics?study={study}",
    "/api/v1/runs",
    "/api/v1/runs/{run}",
    "/api/v1/runs/{run}/metrics",
    "/api/v1/workers",
)
COMPUTE = ("torch", "cygrpc", "_raylet")
"""Compiled parts of torch, of Flower's transport and of Ray."""


def test_what_serves_never_loads_what_computes(live_platform: LivePlatform, owner: User) -> None:
    study = study_launch(owner=owner, name="Served", blocks=[block()])
    run = study.runs.get()
    eventually(lambda: state_of(run.pk) == RunState.DONE)
    client = Client()
    client.force_login(owner)
    for path in (*PAGES, *ROUTES):
        address = live_platform.base_url + path.format(study=study.pk, run=run.pk)
        asked = Request(address, headers={"Cookie": f"sessionid={client.cookies['sessionid'].value}"})
        with urlopen(asked, timeout=30) as answer:
            assert answer.status == 200, path
            answer.read()
    for name in ("web", "worker-1", "scheduler"):
        maps = Path(f"/proc/{live_platform.processes[name].pid}/maps").read_text()
        assert not [each for each in COMPUTE if each in maps], name
