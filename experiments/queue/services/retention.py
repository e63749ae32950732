"""What is kept for some time only, in home and store: files of deleted runs, old checkpoints and logs, and numbers of

single clients.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import Error, connection, transaction
from django.db.models.functions import Now

from experiments.models import Attempt, Run, RunState
from experiments.queue.services.leases import Claim
from workers.home import artifact_folder, checkpoint_folder, file_key, home, log_file, run_folder
from workers.store.copies import cache_folder
from workers.store.removal import remove_later
from workers.store.store import remote_store

DRAFTS = (
    "datasets/npz/.*.part",
    "datasets/.*.part",
    "cache/store/**/.*.part",
    "apps/**/.draft-*",
    "portraits/.*",
    ".restore-*",
)
ABANDONED_SECONDS = 3600.0
TOKEN = re.compile(r"[0-9a-f]{32}")
FINISHED = (RunState.DONE, RunState.FAILED, RunState.CANCELLED)
RUNS_AT_ONCE = 50
# Compare's clients are those of the last evaluation; a run's page shows the last numbers of each kind.
DROP_CLIENT_NUMBERS = """
UPDATE experiments_round AS round SET clients = '{}'
FROM unnest(%s::bigint[]) AS old (run)
LEFT JOIN LATERAL (
    SELECT array_upper(curve.numbers, 1) AS round FROM experiments_curve AS curve
    WHERE curve.run_id = old.run AND curve.name = 'client_accuracy_mean' ORDER BY curve.block DESC, 1 DESC LIMIT 1
) AS evaluated ON true
LEFT JOIN LATERAL (
    SELECT told.round FROM experiments_round AS told
    WHERE told.run_id = old.run AND told.clients <> '{}' ORDER BY told.round DESC LIMIT 1
) AS last ON true
WHERE round.run_id = old.run AND round.clients <> '{}'
    AND round.round IS DISTINCT FROM evaluated.round AND round.round IS DISTINCT FROM last.round
"""


def retention_apply() -> int:
    """How many runs lost their checkpoints or their log, in this home or in the store."""
    checkpoints = prune_files(settings.KEEP_CHECKPOINTS, runs_with_checkpoints, drop_checkpoints)
    return checkpoints + prune_files(settings.KEEP_LOGS, runs_with_log, drop_log)


def sessions_remove() -> int:
    """Those that ended by themselves. Whoever begins to log in has one."""
    return Session.objects.filter(expire_date__lt=Now()).delete()[0]


def client_numbers_drop() -> int:
    """How many runs lost numbers of single clients. The last evaluation and the last numbers of any kind stay."""
    dropped = 0
    while settings.KEEP_CLIENTS and (runs := drop_client_numbers_of_some(settings.KEEP_CLIENTS)):
        dropped += runs
    return dropped


def drop_client_numbers_of_some(days: int) -> int:
    """Under the runs' locks: a retry that comes at this moment waits."""
    old = Run.objects.filter(state__in=FINISHED, clients_dropped=False, finished__lt=Now() - timedelta(days=days))
    with transaction.atomic(), connection.cursor() as cursor:
        some = old.order_by("finished").select_for_update(skip_locked=True, no_key=True)[:RUNS_AT_ONCE]
        runs = list(some.values_list("pk", flat=True))
        cursor.execute(DROP_CLIENT_NUMBERS, [runs])
        Run.objects.filter(pk__in=runs).update(clients_dropped=True)
    return len(runs)


def drafts_remove() -> int:
    """What a process that was killed had begun to write beside its place."""
    long_ago = time.time() - ABANDONED_SECONDS
    drafts = [draft for pattern in DRAFTS for draft in home().glob(pattern) if draft.stat().st_mtime < long_ago]
    for draft in drafts:
        shutil.rmtree(draft) if draft.is_dir() else draft.unlink(missing_ok=True)
    return len(drafts)


def prune_files(days: int, with_files: Callable[[], Iterable[int]], drop: Callable[[int], None]) -> int:
    """0 days keep everything."""
    if not days:
        return 0
    runs = list(with_files())
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


def runs_with_checkpoints() -> set[int]:
    stored = Attempt.objects.exclude(checkpoint="").values_list("run", flat=True) if remote_store() else ()
    return {run for run in runs_on_disk() if checkpoint_folder(run).is_dir()} | set(stored)


def drop_checkpoints(run: int) -> None:
    Attempt.objects.filter(run=run).exclude(checkpoint="").update(checkpoint="", checkpoint_round=None)
    shutil.rmtree(checkpoint_folder(run), ignore_errors=True)
    remove_later(f"runs/{run}/checkpoints")


def runs_with_log() -> set[int]:
    store = remote_store()
    stored = store.folders("logs") if store else []
    return {run for run in runs_on_disk() if log_file(run).is_file()} | {int(run) for run in stored if run.isdecimal()}


def drop_log(run: int) -> None:
    with suppress(OSError):
        log_file(run).unlink()
    remove_later(f"logs/{run}")


def remove_run_folders(runs: Iterable[int]) -> None:
    """Best effort: on a machine that did not compute the run there is nothing to remove."""
    for run in runs:
        shutil.rmtree(run_folder(run), ignore_errors=True)
        shutil.rmtree(cache_folder() / "runs" / str(run), ignore_errors=True)
        remove_later(f"runs/{run}", f"logs/{run}")


def remove_stale_files(claim: Claim) -> None:
    """What an attempt wrote after it lost its run, once its process is dead. Best effort; whatever counts stays."""
    with suppress(Error):
        run = Run.objects.filter(pk=claim.run).first()
        if run is None:
            remove_run_folders([claim.run])
            return
        if claim.token.hex not in run.artifact:
            shutil.rmtree(artifact_folder(run.pk, claim.token), ignore_errors=True)
            remove_later(file_key(artifact_folder(run.pk, claim.token)))
        if run.state == RunState.DONE:
            shutil.rmtree(checkpoint_folder(run.pk), ignore_errors=True)
            remove_later(f"runs/{run.pk}/checkpoints")


def remove_ended_attempts() -> None:
    """Folders of attempts that a worker of this home could not clear up: it was killed, or the store stayed away."""
    folders = {folder.name: folder for folder in home().glob("runs/*/attempts/*") if is_old(folder)}
    with suppress(Error):
        working = set(Attempt.objects.filter(token__in=folders, ended=None).values_list("token", flat=True))
        for token, folder in folders.items():
            if UUID(token) not in working:
                shutil.rmtree(folder, ignore_errors=True)


def is_old(folder: Path) -> bool:
    with suppress(OSError):
        return TOKEN.fullmatch(folder.name) is not None and time.time() - folder.stat().st_mtime > ABANDONED_SECONDS
    return False
