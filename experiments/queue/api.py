"""GET /workers: who computes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router

from experiments.api.schemas import Answer, error_responses, example_config
from experiments.queue.selectors.workers import WorkerRow, worker_rows

router = Router(tags=["lab"])


class WorkerAnswer(Answer):
    model_config = example_config(
        id=3,
        name="cpu-1@lab",
        host="lab",
        device="cpu",
        threads=4,
        alive=True,
        draining=False,
        run=71,
        rounds_per_second=12.5,
        started="2026-03-01T09:00:00Z",
        heartbeat="2026-03-01T12:00:08Z",
        facts={"cores": 8},
    )

    id: int
    """Its number."""
    name: str
    """Slot and machine."""
    host: str
    """The machine it is on."""
    device: str
    """cpu, or cuda:0, cuda:1, ..."""
    threads: int
    """CPU threads it computes with."""
    alive: bool
    """Whether it was heard of just now."""
    draining: bool
    """It was asked to leave and takes no further run."""
    run: int | None
    """What it is at."""
    rounds_per_second: float
    """Its present speed."""
    started: datetime
    """When it came."""
    heartbeat: datetime
    """When it was last heard of."""
    facts: dict[str, Any]
    """Its device, memory and versions, and what is wrong with its plugins."""


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


@router.get("/workers", response={200: list[WorkerAnswer], **error_responses()}, summary="Workers")
def workers(request: HttpRequest) -> Any:
    """Those alive first; a silent one is forgotten after a day."""
    return [worker_answer(row) for row in worker_rows()]
