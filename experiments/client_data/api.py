"""GET /runs/{run}/partition: what its clients hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router

from experiments.api.schemas import Answer, ErrorAnswer, Id, error_responses, example_config
from experiments.client_data.selectors import run_federation
from experiments.client_data.services import distribution_or_request
from experiments.models import Run

router = Router(tags=["data"])


class PartitionAnswer(Answer):
    model_config = example_config(
        run=71,
        dataset="digits",
        samples=1437,
        classes=["0", "1"],
        sizes=[700, 737],
        held=[2, 2],
        entropies=[1.0, 0.98],
        mean_entropy=0.99,
        distance=0.05,
        pairs=1,
        clients=[0, 1],
        counts=[[350, 350], [360, 377]],
        shared=None,
        pictured=[0, 1],
        warnings=["Labels are spread evenly: this partition is IID in its labels."],
        total=0,
    )

    run: int
    """Whose clients these are."""
    dataset: str
    """What they hold parts of."""
    samples: int
    """How many samples there are to hold."""
    classes: list[str]
    """Names of the labels, in their order."""
    sizes: list[int]
    """Samples of every client that takes part; of more than 100,000, of those in `clients`."""
    held: list[int]
    """Classes each of them holds."""
    entropies: list[float]
    """Of each one's labels, in bits."""
    mean_entropy: float
    """Over the clients."""
    distance: float | None
    """Mean Jensen-Shannon distance between clients: 0 is alike, 1 nothing in common."""
    pairs: int
    """Pairs of clients that `distance` is the mean of."""
    clients: list[int]
    """Whom `counts` has a row for: all, or some of very many; -1 is the shared client of hybrid sharing."""
    counts: list[list[int]]
    """Samples of each class."""
    shared: int | None
    """Samples that hybrid sharing gave to the shared client."""
    pictured: list[int]
    """Clients that the pages show samples of."""
    warnings: list[str]
    """What may surprise about it."""
    total: int
    """Clients that take part, where not all are listed; otherwise 0."""


@router.get(
    "/runs/{run}/partition",
    response={200: PartitionAnswer, 202: ErrorAnswer, **error_responses(400, 404)},
    summary="What its clients hold",
)
def partition(request: HttpRequest, run: Id) -> Any:
    """Drawn anew from its spec, and refused where the data set was imported anew since.

    What takes longer than a moment is computed in the background: 202 says so, and `Retry-After` when to ask again.
    """
    stored_run = get_object_or_404(Run, pk=run)
    federation = run_federation(stored_run.spec, stored_run.launch_sources)
    return {"run": stored_run.pk, **asdict(distribution_or_request(federation))}
