"""Data sets, and what the clients of a run hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router

from experiments.api.schemas import Answer, ErrorAnswer, Id
from experiments.models import Run
from experiments.selectors.datasets import Edition, dataset_rows
from experiments.selectors.portraits import portrait_of
from workers.portraits.holdings import holding_spec

router = Router(tags=["data"])


class DatasetAnswer(Answer):
    name: str
    label: str
    parameters: dict[str, Any]
    """What a spec's `dataset` says to get this one; defaults are left out."""
    ready: bool
    what_to_do: str | None
    """Where it is not ready."""
    train: int
    test: int
    classes: int
    shape: list[int]
    natural_clients: int | None
    class_names: list[str]
    bytes: int | None
    """On disk; null where it is made when needed, or not here."""
    checksum: str
    licence: str
    paper: str


class PartitionAnswer(Answer):
    run: int
    dataset: str
    samples: int
    classes: list[str]
    sizes: list[int]
    """Samples of every client that takes part."""
    held: list[int]
    """Classes each of them holds."""
    entropies: list[float]
    """Of each one's labels, in bits."""
    mean_entropy: float
    distance: float | None
    """Mean Jensen-Shannon distance between clients: 0 is alike, 1 nothing in common."""
    pairs: int
    clients: list[int]
    """Whom `counts` has a row for: all, or some of very many; -1 is the shared client of hybrid sharing."""
    counts: list[list[int]]
    """Samples of each class."""
    shared: int | None
    pictured: list[int]
    warnings: list[str]


@router.get("/datasets", response={200: list[DatasetAnswer], 401: ErrorAnswer}, summary="Data sets")
def datasets(request: HttpRequest) -> Any:
    return [dataset_answer(edition) for row in dataset_rows(jobs=False) for edition in row.editions]


def dataset_answer(edition: Edition) -> dict[str, Any]:
    facts = asdict(edition.facts)
    return {
        **facts,
        "name": edition.dataset.name,
        "label": edition.dataset.label,
        "parameters": edition.params.model_dump(mode="json", exclude_defaults=True) | {"name": edition.dataset.name},
        "ready": edition.missing is None,
        "what_to_do": edition.missing,
        "bytes": edition.bytes,
        "checksum": edition.checksum,
        "licence": edition.dataset.licence,
        "paper": edition.dataset.paper,
    }


@router.get(
    "/runs/{run}/partition",
    response={200: PartitionAnswer, 400: ErrorAnswer, 401: ErrorAnswer, 404: ErrorAnswer},
    summary="What its clients hold",
)
def partition(request: HttpRequest, run: Id) -> Any:
    """As it is now: where the data set was imported anew since, a portrait of the new data."""
    found = get_object_or_404(Run, pk=run)
    return {"run": found.pk, **asdict(portrait_of(holding_spec(found.spec)))}
