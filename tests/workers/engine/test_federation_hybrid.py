"""Hybrid sharing exactly as in the study: 10 clients of 100 samples, ratio 0.2."""

from typing import Any

import numpy as np
import pytest

from workers.engine.federation import Federation, hybrid_share, make_federation
from workers.spec import parse_run


def federate(method: str, ratio: float, **fields: Any) -> Federation:
    base = {"dataset": {"name": "blobs", "train": 1000, "test": 50, "shape": [20]}, "model": {"name": "logistic"}}
    hybrid = {"method": method, "ratio": ratio}
    return make_federation(parse_run({**base, "strategy": {"name": "fedavg"}, "hybrid": hybrid, **fields}))


def all_samples(federation: Federation) -> np.ndarray:
    return np.sort(np.concatenate([client.train for client in federation.clients]))


def test_share_disjoint_makes_200_and_ten_clients_of_80() -> None:
    federation = federate("share-disjoint", 0.2)
    assert [(client.index, len(client.train)) for client in federation.clients] == [(i, 80) for i in range(10)] + [
        (-1, 200)
    ]
    assert [client.shared for client in federation.clients] == [False] * 10 + [True]
    assert np.array_equal(all_samples(federation), np.arange(1000))


def test_every_client_gives_a_fifth_of_its_own() -> None:
    before, federation = federate("share-disjoint", 0.0), federate("share-disjoint", 0.2)
    for client in before.clients:
        assert len(np.intersect1d(client.train, federation.clients[-1].train)) == 20


def test_unify_makes_200_and_eight_clients_of_100() -> None:
    before, federation = federate("unify", 0.0), federate("unify", 0.2)
    assert [len(client.train) for client in federation.clients] == [200] + [100] * 8
    assert federation.clients[0].index == -1
    others = {client.index for client in federation.clients[1:]}
    givers = [client.train for client in before.clients if client.index not in others]
    assert np.array_equal(np.sort(np.concatenate(givers)), np.sort(federation.clients[0].train))


@pytest.mark.parametrize("method", ["share-disjoint", "unify"])
def test_ratio_one_is_one_client_with_everything(method: str) -> None:
    federation = federate(method, 1.0)
    assert [(client.index, client.shared, len(client.train)) for client in federation.clients] == [(-1, True, 1000)]


@pytest.mark.parametrize("method", ["share-disjoint", "unify"])
def test_ratio_zero_shares_nothing(method: str) -> None:
    federation = federate(method, 0.0)
    assert [client.index for client in federation.clients] == list(range(10))
    assert federation.shared_bytes == 0


def test_a_ratio_that_rounds_down_to_nobody_shares_nothing() -> None:
    assert not any(client.shared for client in federate("unify", 0.09).clients)


def test_decimal_ratios_mean_what_they_say() -> None:
    """0.29 * 100 is 28.999999999999996 in binary floating point."""
    assert len(hybrid_share([np.arange(100)], "share-disjoint", 0.29, 0).pool) == 29


def test_clients_that_gave_everything_take_no_part() -> None:
    parts = [np.arange(3), np.arange(3, 4)]
    assert [len(part) for part in hybrid_share(parts, "share-disjoint", 0.5, 0).own] == [2, 1]
    assert [len(part) for part in hybrid_share(parts, "share-disjoint", 1.0, 0).own] == [0, 0]


def test_the_shared_samples_cost_four_bytes_a_feature_and_one_for_the_label() -> None:
    assert federate("share-disjoint", 0.2).shared_bytes == 200 * (20 * 4 + 1)


def test_more_than_256_classes_take_two_bytes_for_the_label() -> None:
    many = {"name": "blobs", "train": 1000, "classes": 300, "shape": [20]}
    assert federate("unify", 0.1, dataset=many).shared_bytes == 100 * (20 * 4 + 2)


def test_the_shared_client_has_a_validation_but_no_held_out_part() -> None:
    federation = federate("share-disjoint", 0.2, evaluation={"on": "clients", "validation": 0.1})
    shared = federation.clients[-1]
    assert (len(shared.train), len(shared.validation), len(shared.held_out)) == (180, 20, 0)
    assert [len(client.held_out) for client in federation.clients[:-1]] == [16] * 10


def test_the_shared_clients_stream_is_nobody_elses() -> None:
    federation = federate("unify", 0.2)
    assert len({client.key for client in federation.clients}) == len(federation.clients)
    assert federation.clients[0].key == 2**32 - 2
