"""The queue: which run is next, and what happens to runs whose worker fell silent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from experiments.models import Attempt, Device, Membership, Run, RunState, Worker
from experiments.queue.selectors.queue import WAITING_AND_BUSY
from experiments.queue.selectors.workers import living_workers
from experiments.queue.services.leases import Claim, lose_runs
from experiments.results.live.notify import notify_states
from workers.spec import LOGGED

ELSEWHERE_SECONDS = 60
"""For so long others have the first turn at a run after an accelerator failed it; then any worker may try again."""

# What a cancelled study still holds is others' to wait for, and costs its owner nothing.
# Priority first, then whoever has least running, then whoever was served longest ago, then the older study. A GPU
# worker prefers what needs its GPU.
NEXT_STUDIES = f"""
{WAITING_AND_BUSY}, served AS (
    SELECT study.owner_id, max(latest.id) AS attempt
    FROM (SELECT id, run_id FROM experiments_attempt ORDER BY id DESC LIMIT 100) AS latest
    JOIN experiments_membership AS membership ON membership.run_id = latest.run_id
    JOIN experiments_study AS study ON study.id = membership.study_id
    WHERE NOT study.cancelled GROUP BY study.owner_id
)
SELECT study.id, study.owner_id, study.priority
FROM waiting
JOIN experiments_study AS study ON study.id = waiting.study_id
LEFT JOIN busy ON busy.owner_id = study.owner_id
LEFT JOIN served ON served.owner_id = study.owner_id
WHERE NOT study.paused AND NOT study.cancelled AND study.requires = ANY(%(devices)s)
ORDER BY study.priority DESC, study.requires = 'gpu' DESC, COALESCE(busy.runs, 0), COALESCE(served.attempt, 0), study.id
"""

# What began on one type of device goes on there; what the GPU of this worker failed is for others to try first.
# Ahead of their turn only runs that were never tried.
NEXT_RUNS = """
SELECT run.id
FROM experiments_membership AS membership JOIN experiments_run AS run ON run.id = membership.run_id
WHERE membership.study_id = %(study)s AND membership.waiting AND run.state = 'queued'
    AND run.requires = ANY(%(devices)s) AND run.device_type IN ('', %(device_type)s)
    AND NOT EXISTS (
        SELECT FROM experiments_attempt AS attempt
        WHERE attempt.run_id = run.id AND attempt.worker = %(worker)s AND attempt.outcome = 'accelerator'
            AND attempt.ended > clock_timestamp() - %(elsewhere)s * interval '1 second'
    )
    AND NOT (%(ahead)s AND EXISTS (SELECT FROM experiments_attempt AS attempt WHERE attempt.run_id = run.id))
ORDER BY membership.turn LIMIT %(most)s
FOR UPDATE OF run SKIP LOCKED
"""

# What is claimed ahead has not begun, and so has no `started` yet.
LEASE_RUNS = """
UPDATE experiments_run AS run SET
    state = 'running', worker_id = %(worker)s, lease_token = lease.token,
    lease_until = statement_timestamp() + %(lease)s * interval '1 second',
    started = CASE WHEN NOT %(ahead)s THEN statement_timestamp() END,
    finished = NULL, reason = '', cancel_requested = false
FROM unnest(%(runs)s::bigint[], %(tokens)s::uuid[]) AS lease(run, token)
WHERE run.id = lease.run
"""

START_ATTEMPTS = """
INSERT INTO experiments_attempt (run_id, number, token, worker, started, outcome, reason, checkpoint)
SELECT lease.run, 1 + COALESCE((SELECT max(number) FROM experiments_attempt WHERE run_id = lease.run), 0),
    lease.token, %(name)s, statement_timestamp(), '', '', ''
FROM unnest(%(runs)s::bigint[], %(tokens)s::uuid[]) AS lease(run, token)
RETURNING run_id, number
"""


def run_claim(*, worker: Worker) -> Claim | None:
    """Takes the next run for this worker, or None. No two workers ever get the same one."""
    return next(iter(claim_runs(worker, lambda study: 1, ahead=False)), None)


def runs_claim_ahead(*, worker: Worker, most: Mapping[int, int]) -> list[Claim]:
    """Short runs to go straight on with once the one at work ends: of the study whose turn it is, at most so many.

    They hold a lease and have not begun. None is taken of a study that `most` does not name, and none that another
    worker might be idle for.
    """
    return claim_runs(worker, lambda study: fair_share(study, most.get(study, 0)), ahead=True)


def fair_share(study: int, most: int) -> int:
    """At most half of what falls to each worker, so that none has nothing left while another still has runs in hand."""
    if not most:
        return 0
    shares = 2 * max(1, living_workers().filter(draining=False).count())
    waiting = Membership.objects.filter(study=study, waiting=True).order_by()[: shares * most].count()
    return waiting // shares


def claim_runs(worker: Worker, most: Callable[[int], int], *, ahead: bool) -> list[Claim]:
    if not Worker.objects.filter(pk=worker.pk, draining=False).exists():
        return []
    with transaction.atomic():
        study, runs = next_runs(worker, most, ahead=ahead)
        return lease_runs(runs, study, worker, ahead=ahead) if runs else []


def devices_for(worker: Worker) -> list[str]:
    return [Device.CPU] if worker.device_type == "cpu" else [Device.GPU, Device.CPU]


def next_runs(worker: Worker, most: Callable[[int], int], *, ahead: bool) -> tuple[int, list[int]]:
    """The study that has something for this worker and is to be served first, and the runs to take of it."""
    scope: dict[str, Any] = {
        "devices": devices_for(worker),
        "device_type": worker.device_type,
        "worker": worker.name,
        "elsewhere": ELSEWHERE_SECONDS if has_equal(worker) else 0,
        "ahead": ahead,
    }
    with connection.cursor() as cursor:
        cursor.execute(NEXT_STUDIES, scope)
        studies = cursor.fetchall()
        # Where several people wait they take turns run by run.
        people = {owner for _, owner, priority in studies if priority == studies[0][2]}
        for study, *_ in studies:
            if not (number := most(study)):
                break
            cursor.execute(NEXT_RUNS, {**scope, "study": study, "most": number if len(people) == 1 else 1})
            if rows := cursor.fetchall():
                return study, [run for (run,) in rows]
    return 0, []


def has_equal(worker: Worker) -> bool:
    """Whether another worker with an accelerator of that type could take what this one's failed."""
    if worker.device_type == "cpu":
        return False
    others = living_workers().filter(draining=False).exclude(pk=worker.pk)
    return any(other.device_type == worker.device_type for other in others)


def lease_runs(runs: Sequence[int], study: int, worker: Worker, *, ahead: bool) -> list[Claim]:
    """Each with a token, an attempt and a lease of its own."""
    tokens: dict[int, UUID] = {run: uuid4() for run in runs}
    leases = {"runs": list(tokens), "tokens": list(tokens.values())}
    scope: dict[str, Any] = {**leases, "worker": worker.pk, "name": worker.name}
    with connection.cursor() as cursor:
        cursor.execute(LEASE_RUNS, {**scope, "lease": settings.LEASE, "ahead": ahead})
        cursor.execute(START_ATTEMPTS, scope)
        attempts = dict(cursor.fetchall())
    notify_states(runs)
    rows = Run.objects.only("hash", "spec", "engine", "provenance").in_bulk(runs)
    checkpoints = checkpoint_paths(runs)
    return [
        Claim(
            run=run,
            study=study,
            token=token,
            hash=rows[run].hash,
            sources=rows[run].launch_sources,
            spec=rows[run].spec,
            engine=rows[run].engine or rows[run].spec["engine"],
            attempt=attempts[run],
            resume=tuple(checkpoints[run]),
        )
        for run, token in tokens.items()
    ]


def checkpoint_paths(runs: Sequence[int]) -> Mapping[int, list[str]]:
    """Of earlier attempts, the furthest first."""
    attempts = Attempt.objects.filter(run__in=runs).exclude(checkpoint="").order_by("-checkpoint_round", "-number")
    paths: dict[int, list[str]] = defaultdict(list)
    for run, path in attempts.values_list("run", "checkpoint"):
        paths[run].append(path)
    return paths


def runs_reap() -> int:
    """Requeues runs whose lease ran out, or fails those that have been tried too often; returns how many.

    A logged run that somebody cancelled has no worker that would notice.
    """
    with transaction.atomic():
        silent = Q(lease_until__lt=Now()) | Q(cancel_requested=True, spec__has_key=LOGGED)
        expired = Run.objects.filter(silent, state=RunState.RUNNING)
        return lose_runs(expired, f"Its worker fell silent for {settings.LEASE} seconds.")
