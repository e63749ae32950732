"""Distributions over clients and data-set overviews: from the cache, made here where quick, or in another process."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Any

from experiments.core.subprocesses import ask_module
from workers.catalog.component import Dataset
from workers.client_data import store
from workers.client_data.assignment import federation_fields
from workers.client_data.distribution import ClientDistribution
from workers.client_data.overviews import DatasetOverview, make_overview, overview_key, read_overview
from workers.errors import TributaryError
from workers.spec import RunSpec

PATIENCE_SECONDS = 60


class ClientDataError(TributaryError):
    """What cannot be drawn, and why."""


def client_distribution(spec: RunSpec) -> ClientDistribution:
    if distribution := store.read_distribution(store.distribution_key(spec)):
        return distribution
    if store.is_quick(spec):
        return store.make_distribution(spec)
    make_in_subprocess({"spec": federation_fields(spec)})
    if distribution := store.read_distribution(store.distribution_key(spec)):
        return distribution
    raise ClientDataError("The picture could not be kept. Is there room on the disk?")


def dataset_overview(dataset: Dataset, params: Any, *, wait: bool = False) -> DatasetOverview | None:
    """None where it is not there, or takes longer and nobody waits for it."""
    if dataset.available(params):
        return None
    if overview := read_overview(overview_key(dataset, params)):
        return overview
    if dataset.loads_at_once(params):
        with suppress(TributaryError):
            return make_overview(dataset, params)
    if wait:
        make_in_subprocess({"dataset": params.model_dump(mode="json")})
    return read_overview(overview_key(dataset, params))


def make_in_subprocess(request: dict[str, Any]) -> None:
    try:
        answer = ask_module("workers.client_data", request, timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        raise ClientDataError(
            f"This picture takes longer than {PATIENCE_SECONDS} s: take fewer clients or samples."
        ) from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ClientDataError(f"The picture could not be made: {last}") from None
    if reason := answer.get("error"):
        raise ClientDataError(reason)
