"""Distributions over clients and data-set overviews: from the store, or made here where that is quick."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from workers.catalog import load_catalog
from workers.catalog.component import Dataset
from workers.client_data import store
from workers.client_data.assignment import federation_spec
from workers.client_data.distribution import ClientDistribution
from workers.client_data.overviews import DatasetOverview, make_overview, overview_key, read_overview
from workers.errors import TributaryError
from workers.spec import RunSpec, is_app

OTHER_DATA = (
    "The data set, or the code that parts it, is not the one this run was launched with: what its clients held cannot "
    "be drawn any more."
)

APP_DATA = "This run is one of a Flower app, which brings its own data: what its clients hold is not known here."


class ClientDataError(TributaryError):
    """What cannot be drawn, and why."""


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


def client_distribution(spec: RunSpec) -> ClientDistribution | None:
    """From the store, or made here where that is quick; None where it has to be computed elsewhere first."""
    if distribution := store.read_distribution(store.distribution_key(spec)):
        return distribution
    return store.make_distribution(spec) if store.is_quick(spec) else None


def dataset_overview(dataset: Dataset, params: Any) -> DatasetOverview | None:
    """None where the data set is not here, or its overview has to be computed elsewhere first."""
    if dataset.available(params):
        return None
    if overview := read_overview(overview_key(dataset, params)):
        return overview
    if dataset.loads_at_once(params):
        with suppress(TributaryError):
            return make_overview(dataset, params)
    return None
