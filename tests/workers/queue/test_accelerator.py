"""A worker whose accelerator fails: the runner leaves, the run goes on elsewhere, a broken device takes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from django.test import Client

from experiments.models import Metric, Outcome, Role, Run, RunState, User, Worker
from experiments.queue.services.claim import run_claim
from experiments.queue.services.workers import worker_drain
from experiments.studies.services.launch import study_launch
from workers.engine import simulate
from workers.home import log_file
from workers.queue.slot import Slot
from workers.queue.task import WorkerProcess

pytestmark = pytest.mark.django_db
MakeProcess = Callable[..., WorkerProcess]
ILLEGAL_ACCESS = "CUDA error: an illegal memory access was encountered"
# The real runner, whose training fails as on a GPU: in round 13, or in the first run after a failure.
FAILS_ONCE = f"""
import sys
from pathlib import Path
import torch
from workers.engine.execution.executors import ThreadedExecutor
from workers.queue import runner

mark, train, poisoned = Path(__file__).with_suffix(".failed"), ThreadedExecutor.train, []

def fail_once(self, assignment):
    if poisoned or (assignment.round == 13 and not mark.exists()):
        mark.touch()
        poisoned.append(True)
        raise torch.AcceleratorError("{ILLEGAL_ACCESS}")
    return train(self, assignment)

ThreadedExecutor.train = fail_once
runner.main(int(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.fixture
def owner() -> User:
    return User.objects.create(username="owner", role=Role.ADMIN)


@pytest.fixture
def make_process(tmp_path: Path) -> Iterator[MakeProcess]:
    processes: list[WorkerProcess] = []

    def make(device: str = "cpu", program: str = "") -> WorkerProcess:
        process = WorkerProcess("gpu@lab", device, 1)
        if program:
            (tmp_path / "runner.py").write_text(program)
            process.slot = Slot(device=device, command=[sys.executable, str(tmp_path / "runner.py")])
        processes.append(process)
        return process

    yield make
    for process in processes:
        process.slot.close()


def launch(owner: User, **changes: Any) -> list[Run]:
    block = {
        "dataset": {"name": "digits"},
        "model": {"name": "mlp-50"},
        "strategy": {"name": "fedavg"},
        "clients": 5,
        "rounds": 15,
        "engine": "cohort",
    }
    study = study_launch(owner=owner, name="On a GPU", blocks=[{**block, **changes}])
    return list(study.runs.order_by("pk"))


def losses(run: Run) -> list[float]:
    return list(Metric.objects.filter(run=run, name="loss").order_by("round").values_list("value", flat=True))


def test_after_an_accelerator_error_another_process_goes_on_from_the_checkpoint_and_later_runs_are_whole(
    owner: User, make_process: MakeProcess, redis_url: str
) -> None:
    first, second = launch(owner, seeds=2)

    assert make_process(program=FAILS_ONCE).work() == 3

    for run in (first, second):
        run.refresh_from_db()
        assert run.state == RunState.DONE
        assert losses(run) == [each.metrics["loss"] for each in simulate(run.spec, device="cpu").history]
    failed, whole = first.attempts.all()
    assert (failed.outcome, failed.checkpoint_round, whole.outcome) == (Outcome.ACCELERATOR, 10, Outcome.DONE)
    assert ILLEGAL_ACCESS in failed.reason
    assert "Traceback" in log_file(first.pk).read_text()
    assert [each.outcome for each in second.attempts.all()] == [Outcome.DONE]
    assert (first.device_type, first.requires) == ("cpu", "cpu")


def test_a_worker_whose_device_cannot_be_used_gives_the_run_back_and_takes_no_other(
    owner: User, make_process: MakeProcess, client: Client, redis_url: str
) -> None:
    runs, missing = launch(owner, seeds=2), f"cuda:{torch.cuda.device_count()}"

    process = make_process(device=missing)
    assert process.work() == 1
    process.send_heartbeat()

    worker = Worker.objects.get()
    reason = f"The device {missing} of this worker cannot be used: "
    assert worker.draining
    assert worker.facts["trouble"].startswith(reason)
    (attempt,) = runs[0].attempts.all()
    assert (attempt.outcome, attempt.reason.startswith(reason)) == (Outcome.RELEASED, True)
    states = Run.objects.values_list("state", "crashes", "device_type")
    assert set(states) == {(RunState.QUEUED, 0, "")}
    assert run_claim(worker=worker) is None
    client.force_login(owner)
    assert reason in client.get("/workers").content.decode()

    worker_drain(worker=worker, actor=owner, draining=False)
    worker.refresh_from_db()
    assert (worker.draining, "trouble" in worker.facts) == (False, False)
