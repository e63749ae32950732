"""GET /datasets: what is here, and what to do about the others."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Router

from experiments.api.schemas import error_responses
from experiments.datasets.schemas import DatasetAnswer
from experiments.datasets.selectors import Edition, dataset_rows

router = Router(tags=["data"])


@router.get("/datasets", response={200: list[DatasetAnswer], **error_responses()}, summary="Data sets")
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
