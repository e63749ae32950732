from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from experiments.models import RunState, User, Worker, WorkerSample
from experiments.queue.selectors.workers import highest_value, last_hour_by_worker, latest_value, worker_rows
from experiments.queue.services.workers import worker_enlist, worker_sample
from experiments.queue.template_tags import line_segments, pace
from tests.experiments import lab


def sampled(worker: Worker, age: timedelta, **values: float) -> None:
    sample = {"rounds_per_second": 0.0, "cpu": 0.0, "memory": 0, **values}
    worker_sample(worker=worker, **sample)  # type: ignore[arg-type]
    WorkerSample.objects.filter(pk=WorkerSample.objects.latest("pk").pk).update(at=Now() - age)


def test_the_last_hour_has_a_mean_a_minute_and_gaps_where_nothing_was_told(worker: Worker) -> None:
    other = worker_enlist(name="gpu@lab", host="lab", device="cuda:0", threads=1)
    sampled(worker, timedelta(seconds=10), cpu=0.2, memory=100)
    sampled(worker, timedelta(seconds=40), cpu=0.6, memory=300)
    sampled(worker, timedelta(minutes=59, seconds=30), cpu=1.0, rounds_per_second=7.5)
    sampled(worker, timedelta(minutes=61), cpu=0.9)
    sampled(other, timedelta(minutes=2, seconds=30), gpu=0.5, gpu_memory=4096)
    hours = last_hour_by_worker([worker.pk, other.pk])
    assert hours[worker.pk].cpu == [1.0, *[None] * 58, pytest.approx(0.4)]
    assert hours[worker.pk].memory[-1] == 200
    assert hours[worker.pk].rounds_per_second[0] == 7.5
    assert hours[worker.pk].gpu == [None] * 60
    assert hours[other.pk].gpu == [*[None] * 57, 0.5, None, None]
    assert hours[other.pk].gpu_memory[57] == 4096


def test_what_is_now_was_told_within_two_minutes() -> None:
    assert latest_value([0.1, 0.2, None]) == 0.2
    assert latest_value([0.1, None, None]) is None
    assert highest_value([0.1, None, 0.7]) == 0.7
    assert highest_value([None]) == 0.0


def test_a_worker_is_at_work_idle_leaving_drained_or_silent(owner: User, worker: Worker) -> None:
    def state() -> str:
        return worker_rows()[0].state

    states = [state()]
    run = lab.moved(lab.runs_in_order(lab.launched(owner))[0], RunState.RUNNING)
    run.worker = worker
    run.save()
    states.append(state())
    Worker.objects.update(draining=True)
    states.append(state())
    lab.moved(run, RunState.QUEUED)
    states.append(state())
    Worker.objects.update(heartbeat=Now() - timedelta(minutes=5))
    states.append(state())
    assert states == ["idle", "running", "leaving", "drained", "silent"]


def test_a_worker_tells_what_it_is_made_of(db: None) -> None:
    facts = {"device": "NVIDIA A100", "gpu_memory": 42}
    assert worker_enlist(name="gpu@lab", host="lab", device="cuda:0", threads=1, facts=facts).facts == facts


def test_a_line_rises_with_its_value_and_breaks_at_gaps() -> None:
    assert line_segments([0.0, 0.5, 1.0], top=1.0) == ["0.0,27.0 60.0,14.0 120.0,1.0"]
    assert line_segments([0.0, None, 1.0], top=1.0) == ["0.0,27.0 30.0,27.0", "120.0,1.0 150.0,1.0"]
    assert line_segments([2.0, 2.0], top=1.0) == ["0.0,1.0 120.0,1.0"]
    assert line_segments([0.0, 0.0], top=0.0) == ["0.0,27.0 120.0,27.0"]
    assert line_segments([None, None], top=1.0) == []


def test_a_speed_is_told_in_a_unit_that_reads() -> None:
    assert [pace(each) for each in (123.4, 9.87, 1.0, 0.5, 0.02)] == [
        "123 rounds/s",
        "9.9 rounds/s",
        "1.0 rounds/s",
        "30 rounds/min",
        "1.2 rounds/min",
    ]
