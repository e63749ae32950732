"""What is timed, against the database that Django is set up for. Nothing is mocked: the worker is a real process."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from config.processes import WorkerSlot, child_environment, worker_command
from django.conf import settings
from django.db.models import Max, Min
from django.test import Client

from experiments.models import RunState, Study, User
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import run_release
from experiments.queue.services.workers import worker_enlist, worker_leave
from experiments.studies.services.launch import study_launch

PEOPLE = 5
PATIENCE_SECONDS = 600.0
BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.01, 0.1, 1.0]}],
    "clients": 5,
    "engine": "cohort",
}
# The same runs on the engine alone, one after another in one warm process; the first is for caches to fill.
ENGINE = """
import json, sys, time
import torch
from workers.engine import simulate
torch.set_num_threads(1)
seconds = []
for spec in json.load(sys.stdin):
    begun = time.perf_counter()
    simulate(spec, device="cpu")
    seconds.append(time.perf_counter() - begun)
print(json.dumps(seconds[1:]))
"""
launch_numbers = count(1)


@dataclass(frozen=True)
class Sizes:
    launch: int = 1000
    queued: int = 10_000
    times: int = 30
    short_runs: int = 60
    long_runs: int = 8
    long_rounds: int = 200

    @classmethod
    def small(cls) -> Sizes:
        return cls(launch=40, queued=80, times=3, short_runs=4, long_runs=4, long_rounds=20)


SIZES = Sizes()


def measure_platform(sizes: Sizes) -> dict[str, dict[str, Any]]:
    people = [User.objects.get_or_create(username=f"person-{each}")[0] for each in range(PEOPLE)]
    measures = {"launch": {"runs": sizes.launch, "seconds": launch_seconds(people[0], sizes.launch)}}
    cost = measure_overhead(people[0], sizes)
    fill_queue(people, sizes.queued)
    measures["page"] = {"runs": sizes.queued, "seconds": page_seconds(people[0], sizes.times)}
    measures["claim"] = {"runs": sizes.queued, "seconds": claim_seconds(sizes.times)}
    return {**measures, **cost}


def launch_study(owner: User, runs: int, rounds: int = 5) -> Study:
    """Runs that no study has had: each launch has its own learning rate."""
    rate = {"optimizer": {"name": "sgd", "lr": 0.01 + next(launch_numbers) / 1e6}}
    block = {**BLOCK, "seeds": runs // 4, "rounds": rounds, "local": rate}
    return study_launch(owner=owner, name=f"{runs} runs", blocks=[block])


def launch_seconds(owner: User, runs: int) -> float:
    studies: list[Study] = []
    seconds = median_seconds(3, lambda: studies.append(launch_study(owner, runs)))
    for study in studies:
        study.runs.all().delete()
        study.delete()
    return seconds


def fill_queue(people: list[User], queued: int) -> None:
    for owner in people:
        launch_study(owner, queued // len(people))


def page_seconds(reader: User, times: int) -> float:
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(reader)
    client.get("/queue")
    return median_seconds(times, lambda: client.get("/queue"))


def claim_seconds(times: int) -> float:
    """Each run goes back before the next is taken, so that the queue stays as long."""
    worker = worker_enlist(name="bench@here", host="here", device="cpu", threads=1)
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        claim = run_claim(worker=worker)
        seconds.append(time.perf_counter() - begun)
        if claim is None:
            raise RuntimeError("The queue is empty.")
        run_release(claim=claim)
    worker_leave(worker=worker)
    return statistics.median(seconds)


def measure_overhead(owner: User, sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Short runs give what a run costs; what long ones cost beyond that is the rounds'."""
    with start_worker():
        wait_until_done(launch_study(owner, 4, rounds=1))
        short = added_seconds(owner, sizes.short_runs, 1)
        long = added_seconds(owner, sizes.long_runs, sizes.long_rounds)
    rounds = (long - short) / (sizes.long_rounds - 1)
    return {"run": {"seconds": max(0.0, short - rounds)}, "round": {"seconds": max(0.0, rounds)}}


def added_seconds(owner: User, runs: int, rounds: int) -> float:
    """Seconds a run, from the first claim to the last end, without the engine's own."""
    study = launch_study(owner, runs, rounds)
    wait_until_done(study)
    times = study.runs.aggregate(first=Min("started"), last=Max("finished"))
    return (times["last"] - times["first"]).total_seconds() / study.runs.count() - engine_seconds(study)


def engine_seconds(study: Study) -> float:
    specs = list(study.runs.order_by("pk").values_list("spec", flat=True))
    engine = subprocess.run(
        [sys.executable, "-c", ENGINE],
        input=json.dumps([specs[0], *specs]),
        env=child_environment(OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        check=True,
    )
    return statistics.fmean(json.loads(engine.stdout))


@contextmanager
def start_worker() -> Iterator[None]:
    slot = WorkerSlot(1, "cpu", "cpu", 1, "bench")
    log = (settings.HOME.path / "bench-worker.log").open("wb")
    process = subprocess.Popen(worker_command(slot), env=child_environment(**slot.environment), stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        log.close()


def wait_until_done(study: Study) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while study.runs.exclude(state=RunState.DONE).exists():
        if time.monotonic() > deadline or study.runs.filter(state=RunState.FAILED).exists():
            raise RuntimeError(f"Study {study.pk} did not finish: {study.runs.exclude(reason='').first()}")
        time.sleep(0.2)


def median_seconds(times: int, act: Callable[[], object]) -> float:
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)
