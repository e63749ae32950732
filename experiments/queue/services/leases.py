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
from django.db.models import Case, F, Max, QuerySet, TextField, Value, When
from django.db.models.functions import Coalesce, Concat, Greatest, Now

from experiments.core.errors import StaleLeaseError
from experiments.core.json_values import json_safe, plain_text
from experiments.models import Attempt, Outcome, Run, RunState
from experiments.results.live.notify import notify_rounds, notify_states
from experiments.results.models import LAUNCHED_WITH
from experiments.results.services.curves import curves_record
from workers.engine.records import RoundRecord
from workers.spec import is_app, is_logged

MAX_CRASHES = 3
ENDED_WITH = (
    *("state", "reason", "lease_token", "lease_until", "worker", "cancel_requested", "crashes"),
    *("rounds_total", "provenance", "findings", "artifact"),
)
"""What an end may change of a run; writing the rest again, with its spec, would cost more than all of these."""


@dataclass(frozen=True)
class Claim:
    """A run in the hands of one worker. `resume` are checkpoints of earlier attempts, newest first.

    It may only be computed under the `hash`; `sources` is what it was launched with. `study` is the one whose turn it
    was; others may hold the run too.
    """

    run: int
    study: int
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


# A run that was claimed ahead has begun with the first sign of it.
EXTEND_LEASE = """
UPDATE experiments_run AS run SET
    started = COALESCE(run.started, clock_timestamp() - %(running_for)s * interval '1 second'),
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

# A row that someone else is changing is left for the next time: who waits for it with others in hand could deadlock.
EXTEND_LEASES = """
WITH free AS (
    SELECT run.id FROM experiments_run AS run
    JOIN unnest(%(runs)s::bigint[], %(tokens)s::uuid[]) AS held(run, token)
        ON run.id = held.run AND run.lease_token = held.token
    FOR NO KEY UPDATE OF run SKIP LOCKED
), extended AS (
    UPDATE experiments_run SET lease_until = clock_timestamp() + %(lease)s * interval '1 second'
    WHERE id IN (SELECT id FROM free)
)
SELECT held.token, run.cancel_requested,
    COALESCE((SELECT draining FROM experiments_worker WHERE id = run.worker_id), false)
FROM experiments_run AS run
JOIN unnest(%(runs)s::bigint[], %(tokens)s::uuid[]) AS held(run, token)
    ON run.id = held.run AND run.lease_token = held.token
"""

START = """
UPDATE experiments_run SET
    engine = COALESCE(NULLIF(engine, ''), %(engine)s),
    device_type = COALESCE(NULLIF(device_type, ''), %(device_type)s)
WHERE id = %(run)s AND lease_token = %(token)s
"""

INSERT_ROUNDS = """
INSERT INTO experiments_round (run_id, round, cohort, clients, committed)
SELECT %s, new_round.round, translate(new_round.cohort, '[]', '{}')::int[], new_round.clients::jsonb, clock_timestamp()
FROM unnest(%s::int[], %s::text[], %s::text[]) AS new_round(round, cohort, clients)
ON CONFLICT (run_id, round) DO UPDATE
SET cohort = excluded.cohort, clients = excluded.clients
"""


def run_heartbeat(*, claim: Claim, running_for: float = 0.0) -> Instructions:
    instructions, *_ = extend_lease(claim, rounds=0, running_for=running_for)
    return instructions


def leases_extend(*, claims: Sequence[Claim]) -> dict[UUID, Instructions]:
    """Of runs that wait in the hands of their worker, by token; one that is missing is no longer the worker's."""
    scope: dict[str, Any] = {"runs": [each.run for each in claims], "tokens": [each.token for each in claims]}
    with connection.cursor() as cursor:
        cursor.execute(EXTEND_LEASES, {**scope, "lease": settings.LEASE})
        return {token: Instructions(cancel, drain) for token, cancel, drain in cursor.fetchall()}


def rounds_record(*, claim: Claim, records: Sequence[RoundRecord], running_for: float = 0.0) -> Instructions:
    """Rounds that are ready together, in one transaction. A round told twice is kept once, as told last.

    `running_for`: the seconds since the run began, which is written with the first sign of one that was claimed ahead.
    """
    latest = {record.round: record for record in records}
    with transaction.atomic():
        instructions, cell, studies, at = extend_lease(claim, rounds=max(latest), running_for=running_for)
        insert_rounds(claim.run, list(latest.values()))
        notify_rounds(
            run=claim.run,
            cell=cell,
            studies=studies,
            at=at,
            rounds=[(record.round, record.metrics) for record in latest.values()],
        )
    return instructions


def extend_lease(claim: Claim, *, rounds: int, running_for: float) -> tuple[Instructions, str, list[int], float]:
    scope = {"round": rounds, "running_for": running_for, "lease": settings.LEASE}
    with connection.cursor() as cursor:
        cursor.execute(EXTEND_LEASE, {**scope, "run": claim.run, "token": claim.token})
        row = cursor.fetchone()
    if row is None:
        raise StaleLeaseError
    cancel, drain, cell, studies, at = row
    return Instructions(cancel, drain), cell, studies, at


def insert_rounds(run: int, records: Sequence[RoundRecord]) -> None:
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
    curves_record(run=run, rounds=[(each.round, each.metrics) for each in records])


def start_record(*, claim: Claim, engine: str, device_type: str) -> None:
    """The path that the first attempt chose and the type of its device, kept for every later one."""
    choice = {"engine": engine, "device_type": device_type}
    with connection.cursor() as cursor:
        cursor.execute(START, {**choice, "run": claim.run, "token": claim.token})
        if not cursor.rowcount:
            raise StaleLeaseError


def checkpoint_record(*, claim: Claim, path: str, round_number: int) -> None:
    """A checkpoint counts from here on, and never if the lease is gone; its path is relative to home and store.

    One that is further than all before it forgives earlier crashes: a run of days is given up for what it cannot get
    past, not for the age of its machines.
    """
    with transaction.atomic():
        run = lock_run(claim)
        furthest = Attempt.objects.filter(run=run).aggregate(Max("checkpoint_round"))["checkpoint_round__max"]
        Attempt.objects.filter(token=claim.token).update(checkpoint=path, checkpoint_round=round_number)
        if run.crashes and (furthest is None or round_number > furthest):
            run.crashes = 0
            run.save(update_fields=["crashes"])


def attempt_note(*, claim: Claim, text: str) -> None:
    """What is worth knowing of the attempt however it ends: its reason begins with it."""
    with transaction.atomic():
        lock_run(claim)
        Attempt.objects.filter(token=claim.token).update(reason=with_note(plain_text(text)))


def with_note(text: str) -> Case:
    """Below what is noted already."""
    below = Concat("reason", Value(f"\n{text}" if text else "", output_field=TextField()))
    return Case(When(reason="", then=Value(text, output_field=TextField())), default=below)


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
        give_back(lock_run(claim), reason)


def run_crash(*, claim: Claim, reason: str) -> None:
    """Its process died: tried again a few times, as that may be the machine's fault."""
    with transaction.atomic():
        try_again(lock_run(claim), Outcome.CRASHED, reason)


def run_lose_device(*, claim: Claim, reason: str) -> None:
    """Its accelerator failed: tried again as after a crash, on another worker first."""
    with transaction.atomic():
        try_again(lock_run(claim), Outcome.ACCELERATOR, reason)


def lose_runs(runs: QuerySet[Run], reason: str) -> int:
    """Takes runs away from workers that no longer answer. Within a transaction.

    One that had not begun is no reason to doubt it. That is so once only: only runs never tried are claimed ahead.
    """
    lost = list(runs.select_for_update(skip_locked=True, of=("self",)))
    for run in lost:
        if is_logged(run.spec):
            end_silent_script(run)
        elif run.started is None:
            give_back(run, reason)
        else:
            try_again(run, Outcome.LOST, reason)
    return len(lost)


def end_silent_script(run: Run) -> None:
    """Nobody here could go on with it; it goes on by itself should the script be heard of again."""
    if run.cancel_requested:
        end_attempt(run, RunState.CANCELLED, Outcome.CANCELLED)
    else:
        hours = settings.LOGGED_SILENCE / 3600
        end_attempt(run, RunState.FAILED, Outcome.LOST, f"Nothing was heard of its script for {hours:g} hours.")


def lock_run(claim: Claim) -> Run:
    run = Run.objects.select_for_update().filter(pk=claim.run, lease_token=claim.token).first()
    if run is None:
        raise StaleLeaseError
    return run


def give_back(run: Run, reason: str) -> None:
    if run.cancel_requested:
        end_attempt(run, RunState.CANCELLED, Outcome.CANCELLED)
    else:
        end_attempt(run, RunState.QUEUED, Outcome.RELEASED, reason)


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
    """Ends the attempt and gives up the lease. The attempt began when its run did, not when it was claimed ahead."""
    text = plain_text(reason)
    began = F("started") if run.started is None else Greatest(F("started"), run.started)
    Attempt.objects.filter(run=run, ended=None).update(
        started=began, ended=Now(), outcome=outcome, reason=with_note(text)
    )
    run.state, run.reason = state, text if state == RunState.FAILED else ""
    run.lease_token = run.lease_until = run.worker = None
    run.cancel_requested = False
    changes: dict[str, Any] = {} if state == RunState.QUEUED else {"finished": Now(), "clients_dropped": False}
    if state in (RunState.DONE, RunState.FAILED):
        changes["started"] = Coalesce(F("started"), Now())
    for name, value in changes.items():
        setattr(run, name, value)
    run.save(update_fields=[*ENDED_WITH, *changes])
    notify_states([run.pk])
