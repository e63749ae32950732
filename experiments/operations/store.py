"""What of this home the store should have, where it is elsewhere: sent there by `manage.py store push`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.db.models import F
from django.db.models.functions import Substr

from experiments.models import Attempt, Outcome, Run, RunState
from workers.home import artifact_folder, checkpoint_key, file_key, home, log_file
from workers.store.apps import app_publish, kept_versions
from workers.store.datasets import datasets_publish
from workers.store.store import Store, remote_store

FIRST_LOG = "0000.before.txt"
"""Of a run that was computed before there was a store: it comes before what later attempts say."""


@dataclass(frozen=True)
class PushReport:
    datasets: int
    apps: int
    files: int


def store_push(*, runs: list[int] | None = None) -> PushReport:
    """Data sets, apps and the files of runs, or of those runs alone, as far as the store has not got them."""
    store = remote_store()
    if store is None:
        return PushReport(0, 0, 0)
    store.create()
    files = sum(upload() for upload in run_uploads(store, runs))
    if runs is not None:
        return PushReport(0, 0, files)
    return PushReport(
        len(datasets_publish()), sum(app_publish(name, digest) for name, digest in kept_versions()), files
    )


def run_uploads(store: Store, runs: list[int] | None) -> Iterator[Callable[[], bool]]:
    """Final models and what apps wrote, checkpoints of unfinished runs, and logs."""
    chosen = Run.objects.all() if runs is None else Run.objects.filter(pk__in=runs)
    attempts = Attempt.objects.filter(run__in=chosen)
    for run, token in attempts.filter(outcome=Outcome.DONE).values_list("run_id", "token"):
        folder = artifact_folder(run, token)
        yield partial(publish_missing, store, file_key(folder), folder)
    for artifact in chosen.exclude(artifact="").values_list("artifact", flat=True):
        folder = (home() / artifact).parent
        yield partial(publish_missing, store, file_key(folder), folder)
    resumable = attempts.exclude(run__state=RunState.DONE).exclude(checkpoint="")
    for run, stored in resumable.values_list("run_id", "checkpoint"):
        if key := checkpoint_key(run, stored):
            yield partial(publish_missing, store, key, home() / key)
    for run in chosen.values_list("pk", flat=True):
        yield partial(upload_log, store, run)


def publish_missing(store: Store, key: str, folder: Path) -> bool:
    """A journal is one file; everything else a folder."""
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    whole = [path for path in paths if path.is_file() and not path.is_symlink() and path.name[0] != "."]
    if not whole or store.has_bundle(key):
        return False
    if folder.is_file():
        store.publish(key, {"part-000000": folder}, joined=True)
    else:
        store.publish(key, {path.relative_to(folder).as_posix(): path for path in whole})
    return True


def upload_log(store: Store, run: int) -> bool:
    key = f"logs/{run}"
    if not log_file(run).is_file() or FIRST_LOG in store.sizes(key):
        return False
    store.upload(log_file(run), f"{key}/{FIRST_LOG}")
    return True


def checkpoints_make_relative(before: Path) -> int:
    """Rows of earlier versions hold whole paths below the home; how many."""
    rows = Attempt.objects.filter(checkpoint__startswith=f"{before}/runs/")
    return rows.update(checkpoint=Substr(F("checkpoint"), len(str(before)) + 2))
