"""GET /catalog: everything launchable, with JSON schemas."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import Field

from experiments.api.schemas import Answer, error_responses, example_config
from workers.catalog import load_catalog

router = Router(tags=["lab"])
COMPONENT: dict[str, Any] = {
    "name": "fedprox",
    "label": "FedProx",
    "summary": "FedAvg with a proximal term that keeps clients near the server's model.",
    "paper": "Li et al. 2020, Federated Optimization in Heterogeneous Networks",
    "version": 1,
    "plugin": "",
    "schema": {"type": "object", "properties": {"mu": {"type": "number", "minimum": 0}}},
}


class ComponentAnswer(Answer):
    model_config = example_config(**COMPONENT)

    name: str
    """What a spec calls it."""
    label: str
    """What people call it."""
    summary: str
    """What it does, in a sentence."""
    paper: str
    """Where it comes from."""
    version: int | str
    """Part of a run's identity: it changes when results may."""
    plugin: str
    """The file or entry point of a lab's own component; empty for a built-in one."""
    parameters: dict[str, Any] = Field(alias="schema")
    """The JSON schema of its parameters."""


class CatalogAnswer(Answer):
    model_config = example_config(dataset=[], model=[], partition=[], strategy=[COMPONENT], optimizer=[])

    dataset: list[ComponentAnswer]
    """Data sets."""
    model: list[ComponentAnswer]
    """Models."""
    partition: list[ComponentAnswer]
    """How the training set is divided among the clients."""
    strategy: list[ComponentAnswer]
    """Strategies."""
    optimizer: list[ComponentAnswer]
    """What clients train with."""


@router.get(
    "/catalog",
    response={200: CatalogAnswer, **error_responses()},
    summary="Everything launchable, with JSON schemas",
    by_alias=True,
)
def catalog(request: HttpRequest) -> Any:
    """Form, validation and this document are derived from the same components."""
    return load_catalog().describe()
