"""What a worker writes while it holds a run. Every write is fenced by the lease's token, and database time rules.

A token that is no longer the run's raises `StaleLeaseError`: the run was given to another worker, deleted or has ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from experiments.core.errors import StaleLeaseError
from experiments.core.json_values import json_safe, plain_text
from experiments.models import Attempt, Outcome, Run, RunState
from experiments.results.live.notify import notify_rounds, notify_states
from experiments.results.models import LAUNCHED_WITH
from workers.engine.records import RoundRecord
from workers.spec import is_app

MAX_CRASHES = 3


@dataclass(frozen=True)
class Claim:
    """A run in the hands of one worker. `resume` are checkpoints of earlier attempts, newest first.

    It may only be computed under the `hash`; `sources` is what it was launched with.
    """

    run: int
    token: UUID
    hash: str
    sources: Mapping[str, Any]
    spec: Mapping[str, Any]
    engine: str
    attempt: int
    resume: tuple[str, ...] = ()


@dataclass(frozen=True)
class Instructions:
    """What the lab wants of the worker meanwhile: the answer to a heartbeat."""

    cancel: bool
    drain: bool


EXTEND_LEASE = """
UPDATE experiments_run AS run SET
    rounds_done = GREATEST(run.rounds_done, %(round)s),
    rounds_total = GREATEST(run.rounds_total, %(round)s),
    lease_until = clock_timestamp() + %(lease)s * interval '1 second'
WHERE run.id = %(run)s AND run.lease_token = %(token)s
RETURNING
    run.cancel_requested,
    COALESCE((SELECT draining FROM experiments_worker WHERE id = run.worker_id), false),
    run.cell,
    ARRAY(SELECT study_id FROM experiments_membership WHERE run_id = run.id ORDER BY 1),
    extract(epoch FROM clock_timestamp())::float8
"""

INSERT_ROUNDS = """
INSERT INTO experiments_round (run_id, round, cohort, clients, committed)
SELECT %s, new_round.round, translate(new_round.cohort, '[]', '{}')::int[], new_round.clients::jsonb, clock_timestamp()
FROM unnest(%s::int[], %s::text[], %s::text[]) AS new_round(round, cohort, clients)
ON CONFLICT (run_id, round) DO UPDATE
SET cohort = excluded.cohort, clients = excluded.clients
"""

INSERT_METRICS = """
INSERT INTO experiments_metric (run_id, round, name, value)
SELECT %s, new_metric.* FROM unnest(%s::int[], %s::text[], %s::float8[]) AS new_metric
ON CONFLICT (run_id, name, round) DO UPDATE SET value = excluded.value
"""


def run_heartbeat(*, claim: Claim) -> Instructions:
    instructions, *_ = extend_lease(claim, rounds=0)
    return instructions


def rounds_record(*, claim: Claim, records: Sequence[RoundRecord]) -> Instructions:
    """Rounds that are ready together, in one transaction. A round told twice is kept once, as told last."""
    latest = {record.round: record for record in records}
    with transaction.atomic():
        instructions, cell, studies, at = extend_lease(claim, rounds=max(latest))
        insert_rounds(claim.run, list(latest.values()))
        notify_rounds(
            run=claim.run,
            cell=cell,
            studies=studies,
            at=at,
            rounds=[(record.round, record.metrics) for record in latest.values()],
        )
    return instructions


def extend_lease(claim: Claim, *, rounds: int) -> tuple[Instructions, str, list[int], float]:
    with connection.cursor() as cursor:
        cursor.execute(EXTEND_LEASE, {"round": rounds, "lease": settings.LEASE, "run": claim.run, "token": claim.token})
        row = cursor.fetchone()
    if row is None:
        raise StaleLeaseError
    cancel, drain, cell, studies, at = row
    return Instructions(cancel, drain), cell, studies, at


def insert_rounds(run: int, records: Sequence[RoundRecord]) -> None:
    metrics = [(each.round, name, float(value)) for each in records for name, value in each.metrics.items()]
    with connection.cursor() as cursor:
        cursor.execute(
            INSERT_ROUNDS,
            [
                run,
                [each.round for each in records],
                [dumps(list(each.cohort)) for each in records],
                [dumps(json_safe(each.clients)) for each in records],
            ],
        )
        if metrics:
            cursor.execute(INSERT_METRICS, [run, *(list(column) for column in zip(*metrics, strict=True))])


def start_record(*, claim: Claim, engine: str, device_type: str) -> None:
    """The path that the first attempt chose and the type of its device, kept for every later one."""
    with transaction.atomic():
        run = lock_run(claim)
        if not (run.engine and run.device_type):
            run.engine, run.device_type = run.engine or engine, run.device_type or device_type
            run.save(update_fields=["engine", "device_type"])


def checkpoint_record(*, claim: Claim, path: str, round_number: int) -> None:
    """A checkpoint counts from here on, and never if the lease is gone. One that is further than all before it

    forgives earlier crashes: a run of days is given up for what it cannot get past, not for the age of its machines.
    """
    with transaction.atomic():
        run = lock_run(claim)
        furthest = Attempt.objects.filter(run=run).aggregate(Max("checkpoint_round"))["checkpoint_round__max"]
        Attempt.objects.filter(token=claim.token).update(checkpoint=path, checkpoint_round=round_number)
        if run.crashes and (furthest is None or round_number > furthest):
            run.crashes = 0
            run.save(update_fields=["crashes"])


def run_finish(
    *,
    claim: Claim,
    provenance: Mapping[str, Any],
    artifact: str | None = None,
    findings: Mapping[str, Any] | None = None,
) -> None:
    """`artifact` is where its final parameters are; an app may have none. How many rounds an app has is known now."""
    with transaction.atomic():
        run = lock_run(claim)
        if is_app(run.spec):
            run.rounds_total = run.rounds_done
        run.provenance = {**json_safe(provenance), LAUNCHED_WITH: run.launch_sources}
        run.findings, run.artifact = json_safe(findings or {}), artifact or ""
        end_attempt(run, RunState.DONE, Outcome.DONE)


def run_fail(*, claim: Claim, reason: str) -> None:
    """An error of the run itself: trying again would meet it again."""
    with transaction.atomic():
        end_attempt(lock_run(claim), RunState.FAILED, Outcome.FAILED, reason)


def run_release(*, claim: Claim, reason: str = "Its worker was asked to leave.") -> None:
    """The run was stopped on request: cancelled if that is still wanted, otherwise back to the queue."""
    with transaction.atomic():
        run = lock_run(claim)
        if run.cancel_requested:
            end_attempt(run, RunState.CANCELLED, Outcome.CANCELLED)
        else:
            end_attempt(run, RunState.QUEUED, Outcome.RELEASED, reason)


def run_crash(*, claim: Claim, reason: str) -> None:
    """Its process died: tried again a few times, as that may be the machine's fault."""
    with transaction.atomic():
        try_again(lock_run(claim), Outcome.CRASHED, reason)


def run_lose_device(*, claim: Claim, reason: str) -> None:
    """Its accelerator failed: tried again as after a crash, on another worker first."""
    with transaction.atomic():
        try_again(lock_run(claim), Outcome.ACCELERATOR, reason)


def lose_runs(runs: QuerySet[Run], reason: str) -> int:
    """Takes runs away from workers that no longer answer. Within a transaction."""
    lost = list(runs.select_for_update(skip_locked=True, of=("self",)))
    for run in lost:
        try_again(run, Outcome.LOST, reason)
    return len(lost)


def lock_run(claim: Claim) -> Run:
    run = Run.objects.select_for_update().filter(pk=claim.run, lease_token=claim.token).first()
    if run is None:
        raise StaleLeaseError
    return run


def try_again(run: Run, outcome: Outcome, reason: str) -> None:
    if run.cancel_requested:
        end_attempt(run, RunState.CANCELLED, Outcome.CANCELLED)
        return
    run.crashes += 1
    if run.crashes < MAX_CRASHES:
        end_attempt(run, RunState.QUEUED, outcome, reason)
    else:
        end_attempt(run, RunState.FAILED, outcome, f"{reason} Given up after {run.crashes} attempts.")


def end_attempt(run: Run, state: RunState, outcome: Outcome, reason: str = "") -> None:
    """Ends the attempt and gives up the lease."""
    text = plain_text(reason)
    Attempt.objects.filter(run=run, ended=None).update(ended=Now(), outcome=outcome, reason=text)
    run.state, run.reason = state, text if state == RunState.FAILED else ""
    run.lease_token = run.lease_until = run.worker = None
    run.cancel_requested = False
    run.save()
    if state != RunState.QUEUED:
        Run.objects.filter(pk=run.pk).update(finished=Now())
    notify_states([run.pk])
