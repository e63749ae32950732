"""The platform as `make up` starts it on two cores: scheduler and two workers of one thread, with real data if here."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.home import Home
from config.processes import scheduler_command

from benchmarks.publish import ROOT
from benchmarks.study.grids import StudyGrid
from experiments.models import Role, RunState, Study, User
from experiments.studies.services.launch import study_launch
from tests.live import LivePlatform
from workers.catalog import load_catalog

WORKERS = 2
PATIENCE_SECONDS = 4 * 3600.0
UNPACK = ROOT.parent / "shared" / "data" / "unpack"
FIRST_BLOCK = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}


@contextmanager
def start_lab(home: Home) -> Iterator[User]:
    """Its workers have computed something already; yields who launches."""
    owner = User.objects.create(username="researcher", role=Role.MEMBER)
    platform = LivePlatform(home)
    try:
        platform.start("scheduler", scheduler_command())
        for number in range(1, WORKERS + 1):
            platform.start_worker(number)
        first = study_launch(owner=owner, name="First", blocks=[{**FIRST_BLOCK, "rounds": 20, "seeds": 20}])
        wait_until_done(first)
        yield owner
    finally:
        platform.stop()


def wait_until_done(study: Study) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while study.runs.exclude(state=RunState.DONE).exists():
        failed = study.runs.filter(state=RunState.FAILED).first()
        if failed is not None:
            raise SystemExit(f"A run of {study.name} failed: {failed.reason}")
        if time.monotonic() > deadline:
            raise SystemExit(f"{study.name} did not end within {PATIENCE_SECONDS / 3600:g} hours.")
        time.sleep(0.5)


def with_data(grid: StudyGrid) -> StudyGrid:
    """On its real data where those are beside the repository, otherwise on made data of the same shape."""
    if grid.is_made:
        return grid
    if not UNPACK.exists():
        return grid.on_made_data()
    with tempfile.TemporaryDirectory() as folder:
        unpack = [sys.executable, str(UNPACK), folder, grid.dataset]
        subprocess.run(unpack, check=True, capture_output=True)
        load_catalog().datasets[grid.dataset].import_path(str(Path(folder) / grid.dataset))  # type: ignore[attr-defined]
    return grid
