"""Two people and one real worker: a large grid does not hold a colleague's runs back; a drained worker takes none."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.models import Role, RunState, Study, User, Worker, WorkerSample
from experiments.queue.services.workers import worker_drain
from experiments.studies.services.changes import study_cancel
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, eventually

pytestmark = pytest.mark.django_db(transaction=True)
LARGE, SMALL = 200, 5


def block(**changes: Any) -> dict[str, Any]:
    fields = {
        "dataset": {"name": "digits"},
        "model": {"name": "logistic"},
        "strategy": {"name": "fedavg"},
        "clients": 3,
        "rounds": 1,
        "engine": "cohort",
    }
    return {**fields, **changes}


def done(study: Study) -> int:
    return study.runs.filter(state=RunState.DONE).count()


def test_a_colleagues_five_runs_take_turns_with_a_large_grid(live_platform: LivePlatform) -> None:
    greedy, modest = (User.objects.create(username=name, role=Role.MEMBER) for name in ("greedy", "modest"))
    large = study_launch(owner=greedy, name="Large", blocks=[block(seeds=LARGE)])
    eventually(lambda: done(large) >= 2)
    small = study_launch(owner=modest, name="Small", blocks=[block(rounds=2, seeds=SMALL)])
    eventually(lambda: done(small) == SMALL)
    study_cancel(study=large, actor=greedy)
    since, until = (small.runs.order_by(order)[0].started for order in ("started", "-started"))
    between = large.runs.filter(started__gt=since, started__lt=until).count()
    assert between == SMALL - 1
    eventually(lambda: not large.runs.filter(state=RunState.RUNNING).exists())


def test_a_drained_worker_gives_its_run_back_until_it_is_resumed(live_platform: LivePlatform) -> None:
    owner = User.objects.create(username="owner", role=Role.MEMBER)
    admin = User.objects.create(username="boss", role=Role.ADMIN)
    run = study_launch(owner=owner, name="Long", blocks=[block(rounds=100_000)]).runs.get()
    eventually(lambda: run.attempts.count() == 1)
    worker = Worker.objects.get(name__startswith="worker-1@")
    worker_drain(worker=worker, actor=admin)
    eventually(lambda: type(run).objects.get(pk=run.pk).state == RunState.QUEUED)
    worker_drain(worker=worker, actor=admin, draining=False)
    eventually(lambda: run.attempts.count() == 2)
    study_cancel(study=run.studies.get(), actor=owner)
    eventually(lambda: type(run).objects.get(pk=run.pk).state == RunState.CANCELLED)


def test_a_worker_tells_what_it_is_and_what_it_uses(live_platform: LivePlatform) -> None:
    eventually(lambda: WorkerSample.objects.exists())
    worker = Worker.objects.get(name__startswith="worker-1@")
    assert worker.facts["versions"]["torch"].startswith("2.")
    assert worker.facts["memory"] > 0
    sample = WorkerSample.objects.filter(worker=worker).earliest("at")
    assert 0 <= sample.cpu <= 1
    assert sample.memory > 50_000_000
    assert sample.gpu is None
