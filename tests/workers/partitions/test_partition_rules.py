"""Each partition's own rule, with numbers worked out by hand."""

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.catalog.component import PartitionInput
from workers.errors import FederationError, SpecError
from workers.spec import parse_run


def split(name: str, labels: np.ndarray, clients: int, seed: int = 0, natural: object = None, **params: object):
    partition = load_catalog().partitions[name]
    ids = None if natural is None else np.asarray(natural)
    data = PartitionInput(labels, int(labels.max()) + 1, clients, ids, np.random.default_rng(seed))
    return partition.split(data, partition.Params(**params))


def refused(partition: dict[str, object], dataset: dict[str, object] | None = None, **fields: object) -> list[str]:
    data = {"name": "blobs", "train": 1000, **(dataset or {})}
    with pytest.raises(SpecError) as caught:
        parse_run(
            {
                "dataset": data,
                "model": {"name": "logistic"},
                "strategy": {"name": "fedavg"},
                "partition": partition,
                **fields,
            }
        )
    return [f"{each.path}: {each.message}" for each in caught.value.errors]


TEN_CLASSES = np.arange(1000) % 10


def test_natural_takes_the_first_clients_by_sorted_id() -> None:
    parts = split("natural", np.zeros(6, dtype=int), 2, natural=["c", "a", "b", "a", "c", "b"])
    assert [part.tolist() for part in parts] == [[1, 3], [2, 5]]


def test_natural_refuses_more_clients_than_there_are() -> None:
    with pytest.raises(FederationError, match="3 clients, but the data set has 2: take fewer"):
        split("natural", np.zeros(4, dtype=int), 3, natural=[0, 0, 1, 1])


def test_natural_is_refused_for_data_without_natural_clients() -> None:
    assert refused({"name": "natural"}) == ["partition: blobs has no natural clients: choose another partition."]


def test_grouped_classes_make_athenas_five_groups_of_twenty() -> None:
    parts = split("classes-per-client", TEN_CLASSES, 100, k=2)
    held = [tuple(np.unique(TEN_CLASSES[part]).tolist()) for part in parts]
    assert held == [(0, 1)] * 20 + [(2, 3)] * 20 + [(4, 5)] * 20 + [(6, 7)] * 20 + [(8, 9)] * 20
    assert {len(part) for part in parts} == {10}


def test_grouped_classes_make_athenas_two_groups_of_twenty() -> None:
    parts = split("classes-per-client", TEN_CLASSES, 40, k=5)
    held = [tuple(np.unique(TEN_CLASSES[part]).tolist()) for part in parts]
    assert held == [(0, 1, 2, 3, 4)] * 20 + [(5, 6, 7, 8, 9)] * 20


def test_a_last_group_that_does_not_fill_up_holds_the_last_classes() -> None:
    parts = split("classes-per-client", np.arange(500) % 5, 3, k=2)
    assert [np.unique(part % 5).tolist() for part in parts] == [[0, 1], [2, 3], [3, 4]]
    assert [len(part) for part in parts] == [200, 150, 150]


def test_random_classes_give_client_i_class_i_and_leave_no_class_out() -> None:
    parts = split("classes-per-client", TEN_CLASSES, 6, k=2, assign="random")
    held = [set(TEN_CLASSES[part].tolist()) for part in parts]
    assert all(client in held[client] for client in range(6))
    assert [len(each) for each in held] == [2] * 6
    assert set.union(*held) == set(range(10))


def test_clients_that_would_end_up_empty_are_an_error() -> None:
    with pytest.raises(FederationError, match="take fewer clients or a larger k"):
        split("classes-per-client", np.array([0, 1, 1, 1, 1]), 4, k=1)


def test_classes_per_client_refuses_what_cannot_be_held() -> None:
    assert refused({"name": "classes-per-client", "k": 11}) == [
        "partition.k: 11 classes per client, but there are only 10."
    ]
    assert refused({"name": "classes-per-client", "k": 2}, clients=4) == [
        "clients: 4 clients of 2 classes cannot hold all 10: take 5 or more, or a larger k."
    ]


def test_shards_give_two_equal_pieces_of_sorted_labels() -> None:
    parts = split("shards", TEN_CLASSES, 50, per_client=2)
    assert {len(part) for part in parts} == {20}
    assert max(len(np.unique(TEN_CLASSES[part])) for part in parts) == 2


def test_more_shards_than_samples_are_refused() -> None:
    assert refused({"name": "shards", "per_client": 101}) == [
        "partition.per_client: 1010 shards, but only 1000 training samples."
    ]


def test_the_balanced_rule_gives_nothing_to_clients_that_hold_their_share() -> None:
    """A client is under 1000 / 4 before a class of 100 is dealt, so it can never pass 349."""
    for seed in range(20):
        parts = split("label-dirichlet", TEN_CLASSES, 4, seed, alpha=0.1, min_size=0)
        assert max(len(part) for part in parts) < 250 + 100


def test_without_the_rule_one_client_may_take_nearly_everything() -> None:
    parts = split("label-dirichlet", TEN_CLASSES, 4, seed=1, alpha=0.02, balanced=False, min_size=0)
    assert max(len(part) for part in parts) > 349


def test_a_large_alpha_is_close_to_iid() -> None:
    parts = split("label-dirichlet", TEN_CLASSES, 10, alpha=100_000.0)
    counts = np.array([np.bincount(TEN_CLASSES[part], minlength=10) for part in parts])
    assert abs(counts - 10).max() <= 1


def test_an_unreachable_minimum_is_an_error_not_a_loop() -> None:
    with pytest.raises(FederationError, match="lower min_size, raise alpha or take fewer clients"):
        split("label-dirichlet", TEN_CLASSES, 50, alpha=0.01, min_size=20)
    with pytest.raises(FederationError, match="lower min_size, raise beta or take fewer clients"):
        split("quantity-dirichlet", TEN_CLASSES, 50, beta=0.01, min_size=20)


@pytest.mark.parametrize("name", ["label-dirichlet", "quantity-dirichlet"])
def test_a_minimum_beyond_the_data_is_refused_before_drawing(name: str) -> None:
    assert refused({"name": name, "min_size": 101}) == [
        "partition.min_size: 10 clients of 101 are more than the 1000 samples."
    ]


def test_quantity_skew_keeps_labels_iid() -> None:
    labels = np.arange(100_000) % 2
    for part in split("quantity-dirichlet", labels, 5, min_size=1000):
        assert abs(labels[part].mean() - 0.5) < 0.06


def test_normal_sizes_follow_the_half_normal_distribution() -> None:
    """|N(0, 1)| has mean sqrt(2 / pi) and deviation sqrt(1 - 2 / pi): their ratio is 0.7555."""
    sizes = np.array([len(part) for part in split("quantity-normal", np.zeros(10**6, dtype=int), 4000)])
    assert sizes.sum() == 10**6
    assert sizes.std() / sizes.mean() == pytest.approx(0.7555, abs=0.02)


def test_normal_sizes_leave_nobody_empty() -> None:
    assert min(len(part) for part in split("quantity-normal", np.zeros(120, dtype=int), 100)) == 1
