"""Runs as REST answers with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.db.models import F, Func, IntegerField, Prefetch, QuerySet

from experiments.api.schemas import Answer, Number, State, example_config
from experiments.core.json_values import json_number
from experiments.models import Metric, Round, Run, Study

RUN: dict[str, Any] = {
    "id": 71,
    "hash": "9b1c6b0c4d9e2a37f1c8a4f05be6ad0c3f7e21d8b6c94512a0de77f3e8c1b240",
    "cell": "4f0e8d7f6b5a4c3d2e1f00112233445566778899aabbccddeeff001122334455",
    "seed": 0,
    "state": "done",
    "cancelling": False,
    "rounds_done": 40,
    "rounds_total": 40,
    "engine": "cohort",
    "reason": "",
    "worker": "cpu-1@lab",
    "studies": [12],
    "created": "2026-03-01T12:00:00Z",
    "started": "2026-03-01T12:00:01Z",
    "finished": "2026-03-01T12:00:09Z",
}
ATTEMPT: dict[str, Any] = {
    "number": 1,
    "worker": "cpu-1@lab",
    "started": "2026-03-01T12:00:01Z",
    "ended": "2026-03-01T12:00:09Z",
    "outcome": "done",
    "reason": "",
    "checkpoint_round": 40,
}
ROUND: dict[str, Any] = {"round": 40, "metrics": {"accuracy": 0.912, "loss": 0.31, "train_loss": "NaN"}}
CLIENT_ROUND: dict[str, Any] = {
    "round": 40,
    "cohort": [0, 3],
    "clients": {"0": {"samples": 71, "train_loss": 0.2}, "3": {"samples": 64, "train_loss": 0.4}},
}


class RunAnswer(Answer):
    model_config = example_config(**RUN)

    id: int
    """Its number."""
    hash: str
    """Its identity: runs with the same spec, data and versions share it."""
    cell: str
    """The same for runs that differ only in seed."""
    seed: int
    """Every random draw follows from it."""
    state: State
    """Where it is between the queue and its end."""
    cancelling: bool
    """It was asked to stop and will within seconds."""
    rounds_done: int
    """Rounds that are stored."""
    rounds_total: int
    """Rounds it will have at most."""
    engine: str
    """How its cohorts are computed; empty before it has started."""
    reason: str
    """Why it failed."""
    worker: str | None
    """Who has it, or had it last."""
    studies: list[int]
    """The studies that hold it."""
    created: datetime
    """When it was first asked for."""
    started: datetime | None
    """When a worker first took it."""
    finished: datetime | None
    """When it came to its end."""


class AttemptAnswer(Answer):
    model_config = example_config(**ATTEMPT)

    number: int
    """The first is 1."""
    worker: str
    """Who tried."""
    started: datetime
    """When it took the run."""
    ended: datetime | None
    """Null while it is at it."""
    outcome: str
    """done, failed, cancelled, released, crashed, lost or accelerator; empty while it is at it."""
    reason: str
    """Why it ended as it did."""
    checkpoint_round: int | None
    """The round that the next attempt goes on from."""


class RunDetail(RunAnswer):
    model_config = example_config(
        **RUN,
        spec={"dataset": {"name": "digits"}, "strategy": {"name": "fedavg"}, "rounds": 40, "seed": 0},
        device_type="cpu",
        provenance={"versions": {"torch": "2.13.0"}},
        findings={"confusion": [[40, 2], [3, 35]]},
        artifact="runs/71/artifacts/0f8e/parameters.safetensors",
        attempts=[ATTEMPT],
    )

    spec: dict[str, Any]
    """All of it, defaults filled in."""
    device_type: str
    """cpu, cuda or mps: where it began, and where every later attempt goes on; empty before the first."""
    provenance: dict[str, Any]
    """What computed it: versions, device, checksums."""
    findings: dict[str, Any]
    """What it found beyond its curves, such as the confusion matrix (rows are true classes)."""
    artifact: str
    """Where the final parameters are, below the lab's home folder."""
    attempts: list[AttemptAnswer]
    """Every try at it."""


class RoundAnswer(Answer):
    model_config = example_config(**ROUND)

    round: int
    """0 is the evaluation before training."""
    metrics: dict[str, Number]
    """By name; not-a-number and infinity are text."""


class MetricsAnswer(Answer):
    model_config = example_config(run=71, state="done", rounds=[ROUND], next=None)

    run: int
    """Whose numbers these are."""
    state: State
    """Whether more rounds may come."""
    rounds: list[RoundAnswer]
    """In order; rounds are complete or absent."""
    next: int | None
    """Give it as `after` to get the next rounds; null where these are all."""


class ClientRound(Answer):
    model_config = example_config(**CLIENT_ROUND)

    round: int
    """0 is the evaluation before training."""
    cohort: list[int]
    """Who took part; -1 is the shared client of hybrid sharing."""
    clients: dict[str, dict[str, Any]]
    """Each client's numbers, by its id; not-a-number and infinity are text."""


class ClientsAnswer(Answer):
    model_config = example_config(run=71, state="done", next=40, rounds=[CLIENT_ROUND])

    run: int
    """Whose clients these are."""
    state: State
    """Whether more rounds may come."""
    next: int | None
    """Give it as `after` to get the next rounds; null on the last page."""
    rounds: list[ClientRound]
    """In order."""


class LogAnswer(Answer):
    model_config = example_config(run=71, text="round 1: 0.21 s\nround 2: 0.20 s\n", after=34, size=34, here=True)

    run: int
    """Whose log it is."""
    text: str
    """What its process printed: from byte `after` of the request on, or its last whole lines."""
    after: int
    """Give it as `after` to read on from here."""
    size: int
    """Bytes the log has now."""
    here: bool
    """False where there is none, or another machine holds it."""


def with_studies(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("worker").prefetch_related(Prefetch("studies", Study.objects.only("pk").order_by("pk")))


def run_answer(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "hash": run.hash,
        "cell": run.cell,
        "seed": run.seed,
        "state": run.state,
        "cancelling": run.cancel_requested,
        "rounds_done": run.rounds_done,
        "rounds_total": run.rounds_total,
        "engine": run.engine,
        "reason": run.reason,
        "worker": run.worker.name if run.worker else None,
        "studies": [study.pk for study in run.studies.all()],
        "created": run.created,
        "started": run.started,
        "finished": run.finished,
    }


def run_detail(run: Run) -> dict[str, Any]:
    own = {
        "spec": run.spec,
        "device_type": run.device_type,
        "provenance": run.provenance,
        "findings": run.findings,
        "artifact": run.artifact,
    }
    return {**run_answer(run), **own, "attempts": list(run.attempts.all())}


MOST_VALUES = 200_000
"""Numbers in one answer; the rest is on the next page."""
MOST_CLIENT_BYTES = 5_000_000
"""As PostgreSQL stores them, which may be a third of what they are as JSON."""


def metric_rounds(
    run: Run, names: Sequence[str], after: int, most: int = MOST_VALUES
) -> tuple[list[dict[str, Any]], int | None]:
    """Whole rounds, and the last of them where there are more."""
    values = Metric.objects.filter(run=run, round__gt=after)
    if names:
        values = values.filter(name__in=names)
    rounds: dict[int, dict[str, float | str]] = {}
    rows = values.order_by("round", "name").values_list("round", "name", "value")[: most + 1]
    for number, name, value in rows:
        rounds.setdefault(number, {})[name] = json_number(value)
    is_cut = sum(len(metrics) for metrics in rounds.values()) > most
    if is_cut and len(rounds) > 1:
        rounds.popitem()
    page: list[dict[str, Any]] = [{"round": number, "metrics": metrics} for number, metrics in rounds.items()]
    return page, page[-1]["round"] if is_cut else None


def client_rounds(
    run: Run, after: int, limit: int, most_bytes: int = MOST_CLIENT_BYTES
) -> tuple[list[dict[str, Any]], int | None]:
    """At least one round, as many as are asked for and fit; and the last of them where there are more."""
    coming = Round.objects.filter(run=run, round__gt=after).order_by("round")
    sizes = coming.annotate(size=Func(F("clients"), function="pg_column_size", output_field=IntegerField()))
    numbers = list(sizes.values_list("round", "size")[: limit + 1])
    totals = accumulate(size for _, size in numbers[:limit])
    fitting = sum(total <= most_bytes for total in totals) or 1
    rounds = coming[:fitting]
    page = [{"round": each.round, "cohort": each.cohort, "clients": each.clients} for each in rounds]
    return page, page[-1]["round"] if len(numbers) > fitting else None
