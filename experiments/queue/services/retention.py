"""What leaves the disk: files of runs that are deleted, and checkpoints and logs that are old."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.db import Error, transaction
from django.db.models.functions import Now

from experiments.models import Attempt, Run, RunState
from experiments.queue.services.leases import Claim
from workers.home import artifact_folder, checkpoint_folder, home, log_file, run_folder

DRAFTS = ("datasets/npz/.*.part", "apps/**/.draft-*", "portraits/.*", ".restore-*")
ABANDONED_SECONDS = 3600.0
FINISHED = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)


def retention_apply() -> int:
    """How many runs in this home lost their checkpoints or their log."""
    checkpoints = prune_files(settings.KEEP_CHECKPOINTS, has_checkpoints, drop_checkpoints)
    return checkpoints + prune_files(settings.KEEP_LOGS, has_log, drop_log)


def drafts_remove() -> int:
    """What a process that was killed had begun to write beside its place."""
    long_ago = time.time() - ABANDONED_SECONDS
    drafts = [draft for pattern in DRAFTS for draft in home().glob(pattern) if draft.stat().st_mtime < long_ago]
    for draft in drafts:
        shutil.rmtree(draft) if draft.is_dir() else draft.unlink(missing_ok=True)
    return len(drafts)


def prune_files(days: int, has: Callable[[int], bool], drop: Callable[[int], None]) -> int:
    """0 days keep everything."""
    if not days:
        return 0
    runs = [run for run in runs_on_disk() if has(run)]
    old = Run.objects.filter(pk__in=runs, state__in=FINISHED, finished__lt=Now() - timedelta(days=days))
    return sum(drop_if_ended(run, drop) for run in old.values_list("pk", flat=True))


def drop_if_ended(run: int, drop: Callable[[int], None]) -> bool:
    """Under the run's lock: a retry that comes at this moment waits, or keeps its checkpoint."""
    with transaction.atomic():
        ended = Run.objects.select_for_update(skip_locked=True).filter(pk=run, state__in=FINISHED).first()
        if ended:
            drop(run)
        return ended is not None


def runs_on_disk() -> Iterator[int]:
    folder = home() / "runs"
    yield from (int(each.name) for each in folder.iterdir() if each.name.isdecimal()) if folder.is_dir() else ()


def has_checkpoints(run: int) -> bool:
    return checkpoint_folder(run).is_dir()


def drop_checkpoints(run: int) -> None:
    Attempt.objects.filter(run=run).exclude(checkpoint="").update(checkpoint="", checkpoint_round=None)
    shutil.rmtree(checkpoint_folder(run), ignore_errors=True)


def has_log(run: int) -> bool:
    return log_file(run).is_file()


def drop_log(run: int) -> None:
    with suppress(OSError):
        log_file(run).unlink()


def remove_run_folders(runs: Iterable[int]) -> None:
    """Best effort: on a machine that did not compute the run there is nothing to remove."""
    for run in runs:
        shutil.rmtree(run_folder(run), ignore_errors=True)


def remove_stale_files(claim: Claim) -> None:
    """What an attempt wrote after it lost its run, once its process is dead. Best effort; whatever counts stays."""
    with suppress(Error):
        run = Run.objects.filter(pk=claim.run).first()
        if run is None:
            remove_run_folders([claim.run])
            return
        if claim.token.hex not in run.artifact:
            shutil.rmtree(artifact_folder(run.pk, claim.token), ignore_errors=True)
        if run.state == RunState.DONE:
            shutil.rmtree(checkpoint_folder(run.pk), ignore_errors=True)
