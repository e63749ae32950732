"""Numbers of federations small enough to be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from workers.catalog.component import Arrays
from workers.client_data import distribution as distribution_module
from workers.client_data.assignment import SampleAssignment, assign_samples, federation_spec
from workers.client_data.distribution import IID_WARNING, ClientDistribution, distribution_info
from workers.client_data.store import describe_clients
from workers.engine import federation
from workers.engine.clients import Clients
from workers.errors import FederationError

MILLION = {"name": "synthetic", "devices": 1_000_000}
BLOBS = {"name": "blobs", "classes": 2, "train": 4}


def distribution_by(labels: list[int], *clients: list[int], classes: int = 2) -> ClientDistribution:
    spec = federation_spec({"dataset": {**BLOBS, "classes": classes}, "clients": len(clients)})
    y = np.array(labels)
    x = np.zeros((len(y), 20), np.float32)
    parts = [np.array(each) for each in clients]
    clients_data = Clients(np.arange(len(parts)), parts)
    return distribution_info(SampleAssignment(spec, Arrays(x, y, x[:0], y[:0]), parts, clients_data))


def distribution_of(**fields: Any) -> ClientDistribution:
    return distribution_info(assign_samples(federation_spec(fields)))


def test_clients_without_a_label_in_common_are_1_apart() -> None:
    distribution = distribution_by([0, 0, 1, 1], [0, 1], [2, 3])
    assert distribution.counts == ((2, 0), (0, 2))
    assert (distribution.distance, distribution.pairs, distribution.mean_entropy) == (1.0, 1, 0.0)
    assert (distribution.sizes, distribution.held, distribution.samples) == ((2, 2), (1, 1), 4)


def test_clients_with_the_same_labels_are_0_apart_and_called_iid() -> None:
    distribution = distribution_by([0, 0, 1, 1], [0, 2], [1, 3])
    assert (distribution.distance, distribution.entropies, distribution.most_entropy) == (0.0, (1.0, 1.0), 1.0)
    assert distribution.warnings == ("Labels are spread evenly: this partition is IID in its labels.",)


def test_the_distance_is_the_root_of_the_divergence_in_bits() -> None:
    """(1, 0) and (1/2, 1/2): H(3/4, 1/4) - 1/2 = 0.81128 - 0.5, and its root is 0.5579."""
    assert distribution_by([0, 0, 0, 1], [0, 1], [2, 3]).distance == 0.5579


def test_a_single_client_has_no_distance_and_no_verdict() -> None:
    distribution = distribution_by([0, 1], [0, 1])
    assert (distribution.distance, distribution.pairs, distribution.warnings) == (None, 0, ())


def test_only_partitions_without_label_skew_are_called_iid() -> None:
    data = {"name": "blobs", "train": 5000}
    called = {
        name: IID_WARNING in distribution_of(dataset=data, partition={"name": name, **more}, clients=20).warnings
        for name, more in {
            "iid": {},
            "quantity-dirichlet": {},
            "quantity-normal": {},
            "label-dirichlet": {"alpha": 10.0},
            "classes-per-client": {},
            "shards": {},
        }.items()
    }
    assert called == {
        "iid": True,
        "quantity-dirichlet": True,
        "quantity-normal": True,
        "label-dirichlet": False,
        "classes-per-client": False,
        "shards": False,
    }


def test_the_shared_client_is_marked() -> None:
    """Iaisy 2024's worked example: 10 clients of 100 samples at ratio 0.2."""
    data = {"name": "blobs", "train": 1000}
    disjoint = distribution_of(dataset=data, hybrid={"method": "share-disjoint", "ratio": 0.2})
    assert (disjoint.clients[-1], disjoint.sizes, disjoint.shared) == (-1, (80,) * 10 + (200,), 200)
    unified = distribution_of(dataset=data, hybrid={"method": "unify", "ratio": 0.2})
    assert (unified.clients[0], sorted(unified.sizes), unified.shared) == (-1, [100] * 8 + [200], 200)


def test_a_ratio_that_shares_nothing_is_told() -> None:
    distribution = distribution_of(dataset={"name": "blobs", "train": 100}, hybrid={"ratio": 0.05})
    assert distribution.warnings[-1] == "Hybrid ratio 0.05 rounds down to nothing: no data is shared."


def test_of_many_clients_some_are_drawn_and_all_are_counted() -> None:
    distribution = distribution_of(dataset={"name": "blobs", "train": 4000}, clients=2000)
    assert (len(distribution.clients), distribution.clients[0], distribution.clients[-1]) == (300, 0, 1999)
    assert (len(distribution.sizes), sum(distribution.sizes), distribution.pairs) == (2000, 4000, 19_900)


def test_a_million_clients_are_described_by_300_that_are_made_for_it() -> None:
    spec = federation_spec({"dataset": MILLION, "partition": {"name": "natural"}, "clients": None})
    distribution, pictures = describe_clients(spec)
    assert (distribution.total, distribution.client_count, len(distribution.sizes)) == (1_000_000, 1_000_000, 300)
    assert (distribution.clients[0], distribution.clients[-1], pictures) == (0, 999_999, None)
    assert distribution.samples == spec.dataset_facts.train
    assert [sum(row) for row in distribution.counts] == list(distribution.sizes)


def test_the_clients_that_describe_a_federation_are_those_of_the_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty clients all are described, so that both ways must say the same."""
    spec = federation_spec({"dataset": {**MILLION, "devices": 40}, "partition": {"name": "natural"}, "clients": None})
    whole = distribution_info(assign_samples(spec))
    monkeypatch.setattr(federation, "ON_DEMAND_VALUES", 0)
    assert replace(describe_clients(spec)[0], total=0) == whole


def test_of_very_many_clients_only_those_that_are_drawn_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution_module, "MOST_LISTED", 1999)
    distribution = distribution_of(dataset={"name": "blobs", "train": 4000}, clients=2000)
    assert (distribution.total, distribution.samples, distribution.sizes) == (2000, 4000, (2,) * 300)
    assert (len(distribution.held), len(distribution.entropies)) == (300, 300)


def test_an_impossible_partition_says_why() -> None:
    with pytest.raises(FederationError, match="lower min_size"):
        distribution_of(
            dataset={"name": "blobs"}, partition={"name": "label-dirichlet", "alpha": 0.01, "min_size": 39}, clients=50
        )
