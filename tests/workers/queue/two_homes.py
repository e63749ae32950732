"""Two workers with homes of their own, as on two machines, and what must be true when one is killed in a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.home import Home
from safetensors.numpy import load_file

from experiments.models import Attempt, Outcome, RunState, User
from experiments.results.selectors.files import kept_files, run_files, run_log
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform, eventually
from tests.workers.queue.runs import block, expected, runner_of, state_of, stored, undisturbed
from workers.home import run_folder
from workers.store.store import Store

NAMES = ("worker-1", "worker-2")


@contextmanager
def two_homes(platform: LivePlatform, folder: Path, **settings: str) -> Iterator[None]:
    """With other paths than that of the web server and the tests."""
    platform.stop("worker-1")
    try:
        for number in (1, 2):
            machine = Home(folder / f"machine-{number}").make()
            platform.start_worker(number, TRIBUTARY_HOME=str(machine.path), TRIBUTARY_LEASE="5", **settings)
        yield
    finally:
        platform.stop(*[name for name in NAMES if name in platform.processes])


def kill(platform: LivePlatform, name: str) -> None:
    """The worker and, as its parent is gone, the process that computes."""
    runner = runner_of(platform, name)
    process = platform.processes.pop(name)
    process.kill()
    process.wait()
    eventually(lambda: not Path(f"/proc/{runner}/exe").exists(), 20)


def name_of(attempt: Attempt) -> str:
    return attempt.worker.partition("@")[0]


def check_that_the_other_goes_on(
    platform: LivePlatform, store: Store, owner: User, machines: Path, **changes: Any
) -> None:
    study = study_launch(
        owner=owner, name="Killed", blocks=[block(**{"rounds": 800, "local": {"epochs": 2}, **changes})]
    )
    run = study.runs.get()
    eventually(lambda: Attempt.objects.filter(run=run, checkpoint_round__gte=10).exists())
    first = Attempt.objects.get(run=run)
    assert first.checkpoint.startswith(f"runs/{run.pk}/checkpoints/round-0")
    kill(platform, name_of(first))
    eventually(lambda: state_of(run.pk) == RunState.DONE)
    run.refresh_from_db()
    here = undisturbed(run)
    assert stored(run.pk) == expected(here)
    first, second = run.attempts.all()
    assert (first.outcome, second.outcome) == (Outcome.LOST, Outcome.DONE)
    assert name_of(first) != name_of(second)
    # What people see comes from the store: the model with its checksum, and what both attempts said.
    assert not run_folder(run.pk).exists()
    model = load_file(kept_files(run)["model.safetensors"].path())
    assert {name: array.tobytes() for name, array in model.items()} == {
        name: array.tobytes() for name, array in here.parameters.items()
    }
    assert [file.name for file in run_files(run)][:2] == ["spec.yaml", "model.safetensors"]
    eventually(lambda: f"Attempt 2 on {second.worker}" in run_log(run=run.pk).text)
    eventually(lambda: store.folders(f"runs/{run.pk}") == ["artifacts"])
    machine = machines / f"machine-{name_of(second).removeprefix('worker-')}"
    eventually(lambda: not (machine / "runs" / str(run.pk)).exists())
