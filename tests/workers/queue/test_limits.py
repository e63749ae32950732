"""Two workers side by side: one has a run that hangs or leaks, the other goes on. Runners of our own, no torch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest
from django.db import connection
from pytest_django import Settings

from experiments.models import Attempt, Metric, Run, User
from experiments.studies.services.launch import study_launch
from workers import home
from workers.memory import allowed_memory
from workers.queue.slot import Limits, Slot
from workers.queue.task import WorkerProcess, run_limits

pytestmark = pytest.mark.django_db(transaction=True)

READS = """
import json, sys, time
def tell(**event):
    print(json.dumps(event), flush=True)
tell(event="ready")
for line in sys.stdin:
    job = json.loads(line)
    print("begins", file=sys.stderr, flush=True)
"""
HANGS = READS + "    time.sleep(600)\n"
LEAKS = READS + "    held = b'x' * 400_000_000\n    time.sleep(600)\n"
SOUND = (
    READS
    + """
    for number in range(4):
        time.sleep(0.8)
        tell(event="round", round=number, metrics={"accuracy": number / 4}, cohort=[0], clients={})
    tell(event="done", provenance={}, findings={}, artifact=job["artifacts"])
"""
)
Hire = Callable[[str], WorkerProcess]


@pytest.fixture
def hire(tmp_path: Path) -> Iterator[Hire]:
    processes: list[WorkerProcess] = []

    def make(program: str) -> WorkerProcess:
        path = tmp_path / f"runner{len(processes)}.py"
        path.write_text(program)
        process = WorkerProcess(f"worker-{len(processes)}@lab", "cpu", 1)
        process.slot = Slot(command=[sys.executable, str(path)])
        processes.append(process)
        process.slot.warm()
        while not process.slot.poll(1.0):
            pass
        return process

    yield make
    for process in processes:
        process.slot.kill()
        process.slot.close()


@pytest.fixture
def runs() -> list[Run]:
    owner = User.objects.create(username="owner", role="member")
    block: dict[str, Any] = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "rounds": 3}
    study = study_launch(owner=owner, name="Two", blocks=[{**block, "strategy": {"name": "fedavg"}, "seeds": 2}])
    return list(study.runs.order_by("memberships__position"))


def at_work(process: WorkerProcess) -> Thread:
    def work() -> None:
        process.work()
        connection.close()

    thread = Thread(target=work)
    thread.start()
    return thread


def outcome(hire: Hire, program: str) -> Run:
    """Of the run that the odd runner got, while its neighbour's is done; neither process is left at it."""
    odd, sound = hire(program), hire(SOUND)
    pids = [odd.slot.pid, sound.slot.pid]
    threads = [at_work(sound), at_work(odd)]
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not psutil.pid_exists(pids[0] or 0)
    assert sound.slot.pid == pids[1]
    done = Run.objects.get(state="done")
    stored = Metric.objects.filter(run=done).order_by("round").values_list("round", "value")
    assert list(stored) == [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75)]
    return Run.objects.get(state="failed")


def test_a_run_that_hangs_is_ended_and_told_while_its_neighbour_lives(
    runs: list[Run], hire: Hire, settings: Settings
) -> None:
    settings.RUN_SILENCE = 3
    failed = outcome(hire, HANGS)
    assert failed.reason == "The run gave no sign for 3 seconds and was ended (TRIBUTARY_RUN_SILENCE).\nbegins"
    assert list(Attempt.objects.filter(run=failed).values_list("outcome", flat=True)) == ["failed"]


def test_a_run_that_leaks_is_ended_and_told_while_its_neighbour_lives(
    runs: list[Run], hire: Hire, settings: Settings
) -> None:
    settings.RUN_MEMORY = 200
    failed = outcome(hire, LEAKS)
    assert failed.reason == "The run used more than the 200 MB allowed and was ended (TRIBUTARY_RUN_MEMORY).\nbegins"


def test_limits_are_as_set_and_none_at_zero(settings: Settings) -> None:
    settings.RUN_SECONDS, settings.RUN_SILENCE, settings.RUN_MEMORY = 60, 0, 0
    assert run_limits() == Limits(memory=None, seconds=60, silence=None)
    settings.RUN_MEMORY = None
    assert run_limits().memory == int(allowed_memory() * 0.9)


def test_no_run_is_taken_while_the_disk_is_full(
    runs: list[Run], hire: Hire, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(home, "MIN_FREE_BYTES", 1 << 62)
    assert hire(SOUND).work() == 0
    assert list(Run.objects.values_list("state", flat=True)) == ["queued", "queued"]
    assert "No run is taken: only" in caplog.text


def test_a_runner_that_died_is_replaced_before_the_next_run(runs: list[Run], hire: Hire, settings: Settings) -> None:
    settings.RUN_SILENCE = 1
    process = hire(HANGS)
    process.work()
    assert process.slot.pid
