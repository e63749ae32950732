"""Faults of the store for files, with workers that share nothing else: each has a home of its own."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.home import Home

from benchmarks.faults.lab import WORKERS
from benchmarks.faults.slow_store import PROTOCOL, declare_protocol
from benchmarks.faults.trial import Fault, Trial
from workers.home import home
from workers.store.store import open_store

AWAY_SECONDS = 8.0


def use_store(trial: Trial, address: str, **settings: str) -> None:
    """Both workers are started anew with it, unless they have been already; they keep it until another fault's turn."""
    lab = trial.lab
    lab.use_settings(
        {
            name: {
                "TRIBUTARY_HOME": str(Home(home() / "machines" / name).make().path),
                "TRIBUTARY_STORE": address,
                **settings,
            }
            for name in WORKERS
        }
    )
    trial.wait_for(lab.is_idle, "the workers to be ready")


@contextmanager
def store_folder() -> Iterator[Path]:
    """What the checks look into."""
    folder = home() / "store"
    open_store(str(folder)).create()
    os.environ["TRIBUTARY_STORE"] = str(folder)
    try:
        yield folder
    finally:
        del os.environ["TRIBUTARY_STORE"]
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(home() / "cache", ignore_errors=True)


def cut_off_store(trial: Trial) -> None:
    """It is as if it were not mounted: an empty folder, or something that is none."""
    folder = trial.cleanup.enter_context(store_folder())
    use_store(trial, str(folder))
    trial.launch()
    trial.wait_for_random_moment()
    with unmounted(folder, empty=trial.random.random() < 0.5):
        time.sleep(trial.random.uniform(0.5, AWAY_SECONDS))


@contextmanager
def unmounted(folder: Path, *, empty: bool) -> Iterator[None]:
    away = folder.with_name("store-away")
    folder.rename(away)
    folder.mkdir() if empty else folder.touch()
    try:
        yield
    finally:
        shutil.rmtree(folder) if empty else folder.unlink()
        away.rename(folder)


STORE_CUT_OFF = Fault(
    "store-cut-off",
    "the store for files cut off for up to 8 s, of workers that share nothing else",
    "training goes on and checkpoints wait; a run that is over waits with its model until the store answers",
    cut_off_store,
    ("done",),
)


def kill_worker_of_slow_store(trial: Trial) -> None:
    """At a random moment, often in the middle of an upload; the other worker has only what the store has."""
    folder = trial.cleanup.enter_context(store_folder())
    known = {"PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(declare_protocol(home() / "packages"))])}
    use_store(trial, f"{PROTOCOL}://{folder}", **known)
    trial.launch()
    attempt = trial.wait_for_random_moment()
    name = trial.worker_of(attempt)
    trial.lab.kill(name)
    trial.wait_for(lambda: trial.has_ended(attempt), "the lease to run out")
    trial.lab.start_worker(name)


STORE_SLOW = Fault(
    "store-slow",
    "`kill -9` of a worker whose store takes up to 0.6 s for each request",
    "half an upload counts as none: the other worker brings the last whole checkpoint from the store and goes on",
    kill_worker_of_slow_store,
    ("lost",),
)
