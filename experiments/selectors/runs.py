"""Runs: of a study, in the queue, and one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, IntegerField, Max, Min, Prefetch, Value, When

from experiments.models import Membership, Round, Run, RunState, Study
from workers.home import log_file

PAGE = 100
QUEUE_LIMIT = 200
LOG_BYTES = 16_384


@dataclass(frozen=True)
class FailureGroup:
    reason: str
    runs: int
    example: int


@dataclass(frozen=True)
class QueueRow:
    run: Run
    studies: list[Study]


@dataclass(frozen=True)
class ClientRow:
    """One client in one round; -1 is the shared client of hybrid sharing."""

    client: int
    took_part: bool
    numbers: dict[str, Any]


def study_runs(*, study: int, state: str = "", page: int = 1) -> list[Membership]:
    members = Membership.objects.filter(study_id=study).select_related("run").order_by("position")
    if state:
        members = members.filter(run__state=state)
    return list(members[(page - 1) * PAGE : page * PAGE])


def failures(*, study: int) -> list[FailureGroup]:
    """Failed runs by the first line of their reason, the commonest first."""
    failed = Run.objects.filter(memberships__study=study, state=RunState.FAILED).order_by()
    groups: dict[str, FailureGroup] = {}
    for row in failed.values("reason").annotate(runs=Count("pk"), example=Min("pk")):
        reason = row["reason"].strip().split("\n")[0] or "No reason was recorded."
        before = groups.get(reason, FailureGroup(reason, 0, row["example"]))
        groups[reason] = FailureGroup(reason, before.runs + row["runs"], min(before.example, row["example"]))
    return sorted(groups.values(), key=lambda group: (-group.runs, group.reason))


def queue_rows() -> list[QueueRow]:
    """Running runs first, then queued ones in the order in which workers take them."""
    rank = Case(When(state=RunState.RUNNING, then=Value(0)), default=Value(1), output_field=IntegerField())
    waiting = (
        Run.objects.filter(state__in=[RunState.RUNNING, RunState.QUEUED])
        .annotate(rank=rank, priority=Max("studies__priority"), study=Min("studies__pk"), turn=Min("memberships__turn"))
        .order_by("rank", F("priority").desc(nulls_last=True), "study", "turn", "pk")
        .select_related("worker")
        .prefetch_related(Prefetch("studies", Study.objects.select_related("owner").order_by("pk")))
    )
    return [QueueRow(run, list(run.studies.all())) for run in waiting[:QUEUE_LIMIT]]


def queue_counts() -> dict[str, int]:
    states = [RunState.RUNNING, RunState.QUEUED]
    return dict(Run.objects.filter(state__in=states).order_by().values_list("state").annotate(runs=Count("pk")))


def last_round(*, run: int) -> Round | None:
    """The latest round that has per-client numbers."""
    return Round.objects.filter(run_id=run).exclude(clients={}).order_by("-round").first()


def client_rows(found: Round | None) -> list[ClientRow]:
    if found is None:
        return []
    ids = sorted({*found.cohort, *(int(client) for client in found.clients)})
    return [ClientRow(client, client in found.cohort, found.clients.get(str(client), {})) for client in ids]


def client_columns(rows: Sequence[ClientRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.numbers))


def log_tail(*, run: int) -> str:
    """The end of the run's log, from its first whole line on; empty where another machine holds it."""
    try:
        with log_file(run).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LOG_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return text if size <= LOG_BYTES else text.partition("\n")[2]
