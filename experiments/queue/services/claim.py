"""The queue: which run is next, and what happens to runs whose worker fell silent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max
from django.db.models.functions import Now

from experiments.models import Attempt, Device, Run, RunState, Worker
from experiments.queue.selectors.queue import WAITING_AND_BUSY
from experiments.queue.selectors.workers import living_workers
from experiments.queue.services.leases import Claim, lose_runs
from experiments.results.live.notify import notify_states

ELSEWHERE_SECONDS = 60
"""For so long others have the first turn at a run after an accelerator failed it; then any worker may try again."""

# Priority first, then whoever has least running, then whoever was served longest ago, then the older study. A GPU
# worker prefers what needs its GPU.
NEXT_STUDIES = f"""
{WAITING_AND_BUSY}, served AS (
    SELECT study.owner_id, max(latest.id) AS attempt
    FROM (SELECT id, run_id FROM experiments_attempt ORDER BY id DESC LIMIT 100) AS latest
    JOIN experiments_membership AS membership ON membership.run_id = latest.run_id
    JOIN experiments_study AS study ON study.id = membership.study_id
    GROUP BY study.owner_id
)
SELECT study.id
FROM waiting
JOIN experiments_study AS study ON study.id = waiting.study_id
LEFT JOIN busy ON busy.owner_id = study.owner_id
LEFT JOIN served ON served.owner_id = study.owner_id
WHERE NOT study.paused AND NOT study.cancelled AND study.requires = ANY(%(devices)s)
ORDER BY study.priority DESC, study.requires = 'gpu' DESC, COALESCE(busy.runs, 0), COALESCE(served.attempt, 0), study.id
"""

# What began on one type of device goes on there; what the GPU of this worker failed is for others to try first.
NEXT_RUN = """
SELECT run.id
FROM experiments_membership AS membership JOIN experiments_run AS run ON run.id = membership.run_id
WHERE membership.study_id = %(study)s AND membership.waiting AND run.state = 'queued'
    AND run.requires = ANY(%(devices)s) AND run.device_type IN ('', %(device_type)s)
    AND NOT EXISTS (
        SELECT FROM experiments_attempt AS attempt
        WHERE attempt.run_id = run.id AND attempt.worker = %(worker)s AND attempt.outcome = 'accelerator'
            AND attempt.ended > clock_timestamp() - %(elsewhere)s * interval '1 second'
    )
ORDER BY membership.turn LIMIT 1
FOR UPDATE OF run SKIP LOCKED
"""


def run_claim(*, worker: Worker) -> Claim | None:
    """Takes the next run for this worker, or None. No two workers ever get the same one."""
    if not Worker.objects.filter(pk=worker.pk, draining=False).exists():
        return None
    with transaction.atomic():
        run = next_run(worker)
        return None if run is None else lease_run(run, worker)


def devices_for(worker: Worker) -> list[str]:
    return [Device.CPU] if worker.device_type == "cpu" else [Device.GPU, Device.CPU]


def next_run(worker: Worker) -> int | None:
    scope: dict[str, Any] = {
        "devices": devices_for(worker),
        "device_type": worker.device_type,
        "worker": worker.name,
        "elsewhere": ELSEWHERE_SECONDS if has_equal(worker) else 0,
    }
    with connection.cursor() as cursor:
        cursor.execute(NEXT_STUDIES, scope)
        for (study_id,) in cursor.fetchall():
            cursor.execute(NEXT_RUN, {**scope, "study": study_id})
            if row := cursor.fetchone():
                return int(row[0])
    return None


def has_equal(worker: Worker) -> bool:
    """Whether another worker with an accelerator of that type could take what this one's failed."""
    if worker.device_type == "cpu":
        return False
    others = living_workers().filter(draining=False).exclude(pk=worker.pk)
    return any(other.device_type == worker.device_type for other in others)


def lease_run(run_id: int, worker: Worker) -> Claim:
    token = uuid4()
    Run.objects.filter(pk=run_id).update(
        state=RunState.RUNNING,
        worker=worker,
        lease_token=token,
        lease_until=Now() + timedelta(seconds=settings.LEASE),
        started=Now(),
        finished=None,
        reason="",
        cancel_requested=False,
    )
    attempt = start_attempt(run_id, worker, token)
    notify_states([run_id])
    run = Run.objects.only("hash", "spec", "engine", "provenance").get(pk=run_id)
    return Claim(
        run=run_id,
        token=token,
        hash=run.hash,
        sources=run.launch_sources,
        spec=run.spec,
        engine=run.engine or run.spec["engine"],
        attempt=attempt.number,
        resume=checkpoint_paths(run_id),
    )


def start_attempt(run_id: int, worker: Worker, token: UUID) -> Attempt:
    last_number = Attempt.objects.filter(run_id=run_id).aggregate(last=Max("number"))["last"] or 0
    return Attempt.objects.create(run_id=run_id, number=last_number + 1, token=token, worker=worker.name, started=Now())


def checkpoint_paths(run_id: int) -> tuple[str, ...]:
    attempts = Attempt.objects.filter(run_id=run_id).exclude(checkpoint="").order_by("-checkpoint_round", "-number")
    return tuple(attempts.values_list("checkpoint", flat=True))


def runs_reap() -> int:
    """Requeues runs whose lease ran out, or fails those that have been tried too often; returns how many."""
    with transaction.atomic():
        expired = Run.objects.filter(state=RunState.RUNNING, lease_until__lt=Now())
        return lose_runs(expired, f"Its worker fell silent for {settings.LEASE} seconds.")
