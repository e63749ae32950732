"""Rows as answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Prefetch, QuerySet

from experiments.models import Metric, Round, Run, RunState, Study
from experiments.selectors.progress import Progress, progress_of
from experiments.selectors.workers import WorkerRow
from experiments.services.numbers import json_number


def study_answers(studies: Sequence[Study]) -> list[dict[str, Any]]:
    progress = progress_of(studies)
    return [study_answer(study, progress[study.pk]) for study in studies]


def study_answer(study: Study, progress: Progress) -> dict[str, Any]:
    return {
        "id": study.pk,
        "name": study.name,
        "description": study.description,
        "tags": study.tags,
        "origin": study.origin,
        "owner": study.owner.username,
        "priority": study.priority,
        "requires": study.requires,
        "paused": study.paused,
        "archived": study.archived,
        "parent": study.parent_id,
        "created": study.created,
        "state": progress.state,
        "runs": progress.runs,
        "counts": {state: progress.counts[state] for state in RunState.values},
        "rounds_done": progress.rounds_done,
        "rounds_total": progress.rounds_total,
        "seconds_left": progress.left.total_seconds() if progress.left else None,
        "blocks": study.blocks,
    }


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
        "provenance": run.provenance,
        "findings": run.findings,
        "artifact": run.artifact,
    }
    return {**run_answer(run), **own, "attempts": list(run.attempts.all())}


def metric_rounds(run: Run, names: Sequence[str], after: int) -> list[dict[str, Any]]:
    values = Metric.objects.filter(run=run, round__gt=after)
    if names:
        values = values.filter(name__in=names)
    rounds: dict[int, dict[str, float | str]] = {}
    for number, name, value in values.order_by("round", "name").values_list("round", "name", "value"):
        rounds.setdefault(number, {})[name] = json_number(value)
    return [{"round": number, "metrics": metrics} for number, metrics in rounds.items()]


def client_rounds(run: Run, after: int, limit: int) -> list[dict[str, Any]]:
    rounds = Round.objects.filter(run=run, round__gt=after).order_by("round")[:limit]
    return [{"round": each.round, "cohort": each.cohort, "clients": each.clients} for each in rounds]


def worker_answer(row: WorkerRow) -> dict[str, Any]:
    worker = row.worker
    return {
        "id": worker.pk,
        "name": worker.name,
        "host": worker.host,
        "device": worker.device,
        "threads": worker.threads,
        "alive": row.alive,
        "draining": worker.draining,
        "run": row.run.pk if row.run else None,
        "rounds_per_second": worker.rounds_per_second,
        "started": worker.started,
        "heartbeat": worker.heartbeat,
        "facts": worker.facts,
    }
