"""What every partition promises, over many shapes of data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.catalog import load_catalog
from workers.catalog.component import PartitionInput

# Parameters that suit any number of clients; any other partition is tried with its defaults.
CHOICES = {
    "label-dirichlet": {"min_size": 0},
    "quantity-dirichlet": {"min_size": 0},
    "classes-per-client": {"assign": "random"},
}
NAMES = sorted(load_catalog().partitions)


def split(name: str, samples: int, classes: int, clients: int, seed: int, **params: object) -> list[np.ndarray]:
    """A data set whose classes and natural clients all occur, cut by the partition."""
    data = PartitionInput(
        labels=np.random.default_rng(seed).permutation(np.arange(samples) % classes),
        classes=classes,
        clients=clients,
        natural=np.arange(samples) % clients,
        rng=np.random.default_rng(seed),
    )
    partition = load_catalog().partitions[name]
    return list(partition.split(data, partition.Params(**{**CHOICES.get(name, {}), **params})))


shapes = st.tuples(st.integers(2, 20), st.integers(10, 60), st.integers(4, 30), st.integers(0, 2**20))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(shapes)
def test_it_gives_each_index_to_exactly_one_client(name: str, shape: tuple[int, int, int, int]) -> None:
    classes, clients, per_client, seed = shape
    parts = split(name, clients * per_client, classes, clients, seed)
    assert len(parts) == clients
    assert sorted(np.concatenate(parts).tolist()) == list(range(clients * per_client))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(shapes)
def test_the_same_seed_gives_the_same_clients(name: str, shape: tuple[int, int, int, int]) -> None:
    classes, clients, per_client, seed = shape
    first, second = (split(name, clients * per_client, classes, clients, seed) for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("name", sorted({*NAMES} - {"natural"}))
def test_another_seed_gives_other_clients(name: str) -> None:
    first, second = split(name, 1000, 10, 10, seed=0), split(name, 1000, 10, 10, seed=1)
    assert not all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_it_serves_3597_clients(name: str) -> None:
    parts = split(name, 60_000, 62, 3597, seed=3)
    assert len(parts) == 3597
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(60_000))


@settings(max_examples=25, deadline=None)
@given(shapes)
def test_equal_partitions_differ_by_at_most_one_sample(shape: tuple[int, int, int, int]) -> None:
    classes, clients, per_client, seed = shape
    sizes = [len(part) for part in split("iid", clients * per_client + 3, classes, clients, seed)]
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=25, deadline=None)
@given(shapes, st.sampled_from(["grouped", "random"]), st.integers(1, 2))
def test_a_client_holds_no_more_than_k_classes(shape: tuple[int, int, int, int], assign: str, k: int) -> None:
    classes, clients, _, seed = shape
    classes = min(classes, clients * k)
    k = min(k, classes)
    labels = np.random.default_rng(seed).permutation(np.arange(clients * 30) % classes)
    parts = split("classes-per-client", clients * 30, classes, clients, seed, k=k, assign=assign)
    assert all(len(np.unique(labels[part])) <= k for part in parts)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.floats(0.1, 10), st.integers(0, 2**20))
def test_the_smallest_client_of_a_dirichlet_has_min_size(clients: int, concentration: float, seed: int) -> None:
    labels = split("label-dirichlet", clients * 200, 10, clients, seed, alpha=concentration, min_size=2)
    quantities = split("quantity-dirichlet", clients * 200, 10, clients, seed, beta=1 + concentration, min_size=2)
    assert min(len(part) for part in [*labels, *quantities]) >= 2
