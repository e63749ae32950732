"""Distributions over clients and data-set overviews: from the cache, made here where quick, or in another process."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from experiments.core.subprocesses import ask_module
from workers.catalog import load_catalog
from workers.catalog.component import Dataset
from workers.client_data import store
from workers.client_data.assignment import federation_fields, federation_spec
from workers.client_data.distribution import ClientDistribution
from workers.client_data.overviews import DatasetOverview, make_overview, overview_key, read_overview
from workers.errors import TributaryError
from workers.spec import RunSpec, is_app

PATIENCE_SECONDS = 60
OTHER_DATA = (
    "The data set, or the code that parts it, is not the one this run was launched with: what its clients held cannot "
    "be drawn any more."
)

APP_DATA = "This run is one of a Flower app, which brings its own data: what its clients hold is not known here."


class ClientDataError(TributaryError):
    """What cannot be drawn, and why."""


def run_distribution(spec: Mapping[str, Any], sources: Mapping[str, Any]) -> ClientDistribution:
    """Of a run with that spec, computed from those sources (`Run.launch_sources`)."""
    return client_distribution(run_federation(spec, sources))


def run_federation(spec: Mapping[str, Any], sources: Mapping[str, Any]) -> RunSpec:
    """What decides who holds what, or a `TributaryError` that says why it cannot be drawn."""
    if is_app(spec):
        raise ClientDataError(APP_DATA)
    federation = federation_spec(spec)
    require_same_data(federation, sources)
    return federation


def require_same_data(spec: RunSpec, sources: Mapping[str, Any]) -> None:
    """What the clients held is drawn anew, from what is here now. Of runs without `sources` nobody can tell."""
    if not sources:
        return
    catalog = load_catalog()
    dataset, partition = catalog.datasets[spec.dataset.name], catalog.partitions[spec.partition.name]
    before = (sources["data"], sources["versions"]["dataset"], sources["versions"]["partition"])
    if before != (dataset.checksum(spec.dataset), dataset.stamp, partition.stamp):
        raise ClientDataError(OTHER_DATA)


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
