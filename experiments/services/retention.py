"""What finished runs leave on disk is not kept for ever: checkpoints, and later their logs. Numbers and models stay."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from experiments.models import Attempt, Run, RunState
from workers.home import checkpoint_folder, home, log_file

FINISHED = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)


def retention_apply() -> int:
    """How many runs in this home lost their checkpoints or their log."""
    checkpoints = prune(settings.KEEP_CHECKPOINTS, has_checkpoints, drop_checkpoints)
    return checkpoints + prune(settings.KEEP_LOGS, has_log, drop_log)


def prune(days: int, has: Callable[[int], bool], drop: Callable[[int], None]) -> int:
    """0 days keep everything."""
    if not days:
        return 0
    held = [run for run in runs_here() if has(run)]
    old = Run.objects.filter(pk__in=held, state__in=FINISHED, finished__lt=Now() - timedelta(days=days))
    return sum(drop_from(run, drop) for run in old.values_list("pk", flat=True))


def drop_from(run: int, drop: Callable[[int], None]) -> bool:
    """Under the run's lock: a retry that comes at this moment waits, or keeps its checkpoint."""
    with transaction.atomic():
        still = Run.objects.select_for_update(skip_locked=True).filter(pk=run, state__in=FINISHED).first()
        if still:
            drop(run)
        return still is not None


def runs_here() -> Iterator[int]:
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
