from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery
from config.celery import app
from django.db import connection, connections
from django.db.models.functions import Now
from pytest_django import Settings

from experiments.core.database import Lock
from experiments.models import Run, RunState, User, Worker, WorkerSample
from experiments.queue.services.claim import run_claim
from experiments.queue.services.scheduler import Scheduler
from experiments.queue.services.wake_up import send_wake_ups, wake_up_idle_workers, wake_up_workers, workers_to_wake
from experiments.queue.services.workers import samples_prune, worker_enlist, worker_sample
from experiments.studies.services.launch import study_launch

Block = dict[str, Any]


@pytest.fixture
def queue(redis_url: str) -> Any:
    """How many messages wait in the queue `cpu`."""
    with app.connection_for_write() as broker:
        channel = broker.default_channel
        channel.queue_purge("cpu")
        yield lambda: channel.client.llen("cpu")
        channel.queue_purge("cpu")


def test_it_wakes_up_each_idle_worker_while_runs_wait(owner: User, worker: Worker, block: Block, queue: Any) -> None:
    worker_enlist(name="second@lab", host="lab", device="cpu", threads=1)
    assert wake_up_idle_workers() == 0
    study_launch(owner=owner, name="Waiting", blocks=[block])
    assert (wake_up_idle_workers(), queue()) == (2, 2)
    run_claim(worker=worker)
    assert (wake_up_idle_workers(), queue()) == (1, 3)


def test_it_wakes_nobody_up_for_paused_studies(owner: User, worker: Worker, block: Block, queue: Any) -> None:
    study = study_launch(owner=owner, name="Paused", blocks=[block])
    study.paused = True
    study.save()
    assert (wake_up_idle_workers(), queue()) == (0, 0)


def test_a_launch_wakes_no_more_workers_than_it_has_runs(owner: User, worker: Worker, block: Block, queue: Any) -> None:
    worker_enlist(name="second@lab", host="lab", device="cpu", threads=1)
    study_launch(owner=owner, name="New", blocks=[block])
    assert (wake_up_workers(0), wake_up_workers(1), wake_up_workers(9), queue()) == (0, 1, 2, 3)


def test_it_wakes_up_the_workers_that_can_do_what_waits(owner: User, worker: Worker, block: Block) -> None:
    fast, faster = [worker_enlist(name=f"{each}@lab", host="lab", device=f"cuda:{each}", threads=1) for each in (0, 1)]
    every = [worker, fast, faster]
    assert workers_to_wake(every) == []
    gpu = study_launch(owner=owner, name="GPU", blocks=[{**block, "strategy": {"name": "fedavg"}}], requires="gpu")
    assert workers_to_wake(every) == [fast, faster]
    assert workers_to_wake([worker]) == []
    study_launch(owner=owner, name="CPU", blocks=[{**block, "rounds": 9}])
    assert workers_to_wake(every) == [fast, faster, worker]
    gpu.runs.all().delete()
    assert workers_to_wake(every) == [worker, fast, faster]


def test_samples_are_forgotten_after_a_day(worker: Worker) -> None:
    for age in (timedelta(hours=23), timedelta(hours=25)):
        worker_sample(worker=worker, rounds_per_second=1.0, cpu=0.5, memory=1)
        WorkerSample.objects.filter(pk=WorkerSample.objects.latest("pk").pk).update(at=Now() - age)
    assert samples_prune() == 1
    assert WorkerSample.objects.count() == 1


def test_with_no_worker_in_sight_the_message_waits_for_the_first(db: None, queue: Any) -> None:
    assert (wake_up_workers(5), queue()) == (1, 1)


def test_a_message_that_cannot_be_sent_breaks_nothing(monkeypatch: Any) -> None:
    monkeypatch.setattr("config.celery.app", Celery(broker="redis://127.0.0.1:1/0"))
    assert send_wake_ups(["cpu"]) == 0


@pytest.fixture
def lost(owner: User, worker: Worker, block: Block) -> Iterator[None]:
    """A run whose lease is over."""
    study_launch(owner=owner, name="Lost", blocks=[block])
    run_claim(worker=worker)
    Run.objects.filter(state=RunState.RUNNING).update(lease_until=Now() - timedelta(seconds=1))
    yield
    connection.cursor().execute("SELECT pg_advisory_unlock_all()")


def test_after_taking_the_lead_it_leaves_workers_the_time_of_a_lease_to_come_back(lost: None, queue: Any) -> None:
    Scheduler().tick()
    assert Run.objects.filter(state=RunState.RUNNING).count() == 1


def test_a_tick_gives_lost_runs_back_and_rings(lost: None, queue: Any, settings: Settings) -> None:
    settings.LEASE = 0
    Scheduler().tick()
    assert Run.objects.filter(state=RunState.QUEUED).count() == 4
    assert queue() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_schedulers_one_leads_until_it_is_gone(redis_url: str) -> None:
    rival = connections.create_connection("default")
    with rival.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [int(Lock.SCHEDULER)])
        scheduler = Scheduler()
        scheduler.tick()
        assert not scheduler.leads
        cursor.execute("SELECT pg_advisory_unlock_all()")
    scheduler.tick()
    assert scheduler.leads
    rival.close()
    connection.close()
