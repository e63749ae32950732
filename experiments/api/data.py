"""Data sets, and what the clients of a run hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router

from experiments.api.lab_schemas import DatasetAnswer, PartitionAnswer
from experiments.api.schemas import Id, refusals
from experiments.models import Run
from experiments.selectors.datasets import Edition, dataset_rows
from experiments.selectors.portraits import portrait_of
from workers.portraits.holdings import holding_spec

router = Router(tags=["data"])


@router.get("/datasets", response={200: list[DatasetAnswer], **refusals()}, summary="Data sets")
def datasets(request: HttpRequest) -> Any:
    """What is here first, with what to do about the others."""
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
    response={200: PartitionAnswer, **refusals(400, 404)},
    summary="What its clients hold",
)
def partition(request: HttpRequest, run: Id) -> Any:
    """As it is now: where the data set was imported anew since, a portrait of the new data."""
    found = get_object_or_404(Run, pk=run)
    return {"run": found.pk, **asdict(portrait_of(holding_spec(found.spec)))}
