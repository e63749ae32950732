from typing import Any, ClassVar

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.catalog.component import Arrays, Dataset, DatasetFacts, Normalisation
from workers.engine.federation import Federation, make_federation
from workers.errors import FederationError, SpecError
from workers.spec import RunSpec, parse_run


def spec(**fields: Any) -> RunSpec:
    base = {"dataset": {"name": "blobs", "train": 1000, "test": 50}}
    return parse_run({"model": {"name": "logistic"}, "strategy": {"name": "fedavg"}, **base, **fields})


def federate(**fields: Any) -> Federation:
    return make_federation(spec(**fields))


def part_sizes(federation: Federation) -> list[tuple[int, int, int]]:
    return [(len(each.train), len(each.validation), len(each.held_out)) for each in federation.clients]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts arrays of the test's own in the place of the blobs."""

    class Served(Dataset):
        name = "blobs"
        label = "Served"
        normalisations: ClassVar[dict[str, Normalisation]] = {"default": Normalisation((0.5, 0.25), (0.5, 2.0))}
        arrays: Arrays
        missing: str | None = None

        def facts(self, params: Any) -> DatasetFacts:
            arrays, natural = self.arrays, self.arrays.client
            count = None if natural is None else len(np.unique(natural))
            return DatasetFacts(arrays.train_x.shape[1:], 10, len(arrays.train_y), len(arrays.test_y), count)

        def load(self, params: Any) -> Arrays:
            return self.arrays

        def checksum(self, params: Any) -> str:
            return str(id(self.arrays))

        def available(self, params: Any) -> str | None:
            return self.missing

    dataset = Served()
    monkeypatch.setitem(load_catalog().components["dataset"], "blobs", dataset)
    return dataset


def pictures(train: int, test: int = 2, dtype: Any = np.uint8, **fields: Any) -> Arrays:
    labels = np.arange(train) % 10, np.arange(test) % 10
    return Arrays(
        np.full((train, 2, 1, 1), 255, dtype), labels[0], np.zeros((test, 2, 1, 1), dtype), labels[1], **fields
    )


def test_every_client_gets_its_part_and_the_test_set_is_the_data_sets_own() -> None:
    federation = federate()
    assert [client.index for client in federation.clients] == list(range(10))
    assert [len(client.train) for client in federation.clients] == [100] * 10
    assert [len(client.held_out) + len(client.validation) for client in federation.clients] == [0] * 10
    assert (federation.x.shape, federation.test_x.shape) == ((1000, 20), (50, 20))
    assert (federation.x.dtype, federation.y.dtype) == (np.float32, np.int64)
    assert federation.shared_bytes == 0


def test_the_same_spec_makes_the_same_federation_and_another_seed_another() -> None:
    fields = {"feature_noise": 0.1, "hybrid": {"ratio": 0.3}, "evaluation": {"on": "clients"}}
    one, same, other = federate(**fields), federate(**fields), federate(**fields, seed=1)
    assert np.array_equal(one.x, same.x)
    assert all(np.array_equal(a.train, b.train) for a, b in zip(one.clients, same.clients, strict=True))
    assert not np.array_equal(one.x, other.x)
    assert not np.array_equal(one.clients[-1].train, other.clients[-1].train)


def test_bytes_become_zero_to_one_and_are_then_normalised_per_channel(served: Any) -> None:
    served.arrays = pictures(20)
    federation = federate(clients=2)
    assert federation.x[0].ravel().tolist() == [1.0, 0.375]
    assert federation.test_x[0].ravel().tolist() == [-1.0, -0.125]


def test_without_normalisation_bytes_are_only_scaled(served: Any) -> None:
    served.arrays = pictures(20)
    federation = federate(clients=2, dataset={"name": "blobs", "normalise": "none"})
    assert (federation.x.min(), federation.x.max(), federation.test_x.max()) == (1.0, 1.0, 0.0)


def test_nothing_is_copied_where_nothing_changes(served: Any) -> None:
    served.arrays = pictures(20, dtype=np.float32)
    federation = federate(clients=2, dataset={"name": "blobs", "normalise": "none"})
    assert federation.x is served.arrays.train_x
    assert federation.test_x is served.arrays.test_x


def test_loaded_data_is_never_written_to(served: Any) -> None:
    served.arrays = pictures(20, dtype=np.float32)
    federate(clients=2, feature_noise=1.0)
    federate(clients=2)
    assert np.unique(served.arrays.train_x).tolist() == [255.0]


def test_client_i_of_n_has_noise_of_variance_sigma_i_over_n(served: Any) -> None:
    blank = Arrays(np.zeros((400, 1000), np.float32), np.arange(400) % 10, np.zeros((1, 1000), np.float32), np.zeros(1))
    served.arrays = blank
    federation = federate(clients=4, feature_noise=0.1, dataset={"name": "blobs", "normalise": "none"})
    variances = [federation.x[client.train].var() for client in federation.clients]
    assert variances == pytest.approx([0.025, 0.05, 0.075, 0.1], rel=0.02)
    assert not federation.test_x.any()


def test_noise_as_a_deviation_grows_from_nothing_to_sigma_and_comes_after_normalising(served: Any) -> None:
    blank = Arrays(np.zeros((400, 2, 20, 25)), np.arange(400) % 10, np.zeros((1, 2, 20, 25)), np.zeros(1))
    served.arrays = blank
    federation = federate(clients=5, feature_noise=0.1, feature_noise_kind="deviation")
    means, deviations = [0.5 / -0.5, 0.25 / -2.0], [0.0, 0.025, 0.05, 0.075, 0.1]
    for client, deviation in zip(federation.clients, deviations, strict=True):
        x = federation.x[client.train]
        assert x.std((0, 2, 3)) == pytest.approx([deviation] * 2, rel=0.03)
        assert x.mean((0, 2, 3)) == pytest.approx(means, abs=0.01)


def test_a_clients_held_out_part_is_as_noisy_as_its_training_part() -> None:
    shape = {"name": "blobs", "train": 200, "shape": [1000], "spread": 0.0}
    clean, federation = (
        federate(dataset=shape, clients=2, feature_noise=noise, evaluation={"on": "clients"}) for noise in (0.0, 0.5)
    )
    held_out = federation.clients[1].held_out
    assert (federation.x - clean.x)[held_out].var() == pytest.approx(0.5, rel=0.03)


def test_evaluation_on_clients_holds_a_fifth_of_each_client_out() -> None:
    federation = federate(evaluation={"on": "clients"})
    assert part_sizes(federation) == [(80, 0, 20)] * 10
    parts = np.concatenate([part for each in federation.clients for part in (each.train, each.held_out)])
    assert np.array_equal(np.sort(parts), np.arange(1000))


def test_the_studys_seventy_ten_twenty() -> None:
    federation = federate(evaluation={"on": "clients", "held_out": 0.2, "validation": 0.1})
    assert part_sizes(federation) == [(70, 10, 20)] * 10


def test_a_strategy_that_needs_validation_gets_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_catalog().strategies["fedavg"], "needs_validation", True, raising=False)
    assert {(len(each.train), len(each.validation)) for each in federate().clients} == {(90, 10)}


def test_a_client_keeps_at_least_one_training_sample() -> None:
    tiny = {"name": "blobs", "train": 10, "test": 5}
    federation = federate(dataset=tiny, clients=4, evaluation={"on": "clients", "held_out": 0.95, "validation": 0.04})
    assert [(len(each.train), len(each.held_out)) for each in federation.clients] == [(1, 2), (1, 2), (1, 1), (1, 1)]


def test_data_without_a_test_set_is_tested_on_the_union_of_held_out_parts() -> None:
    federation = federate(dataset={"name": "blobs", "train": 100, "test": 0}, clients=4)
    held_out = np.sort(np.concatenate([client.held_out for client in federation.clients]))
    assert len(held_out) == 20
    assert np.array_equal(federation.test_x, federation.x[held_out])
    assert np.array_equal(federation.test_y, federation.y[held_out])


def test_samples_of_natural_clients_left_out_cost_no_memory(served: Any) -> None:
    served.arrays = pictures(30, 3, client=np.arange(30) % 3, test_client=np.array([0, 1, 2]))
    federation = federate(clients=2, partition={"name": "natural"})
    assert federation.x.shape[0] == 20
    assert [federation.y[client.train].tolist() for client in federation.clients] == [
        [0, 3, 6, 9, 2, 5, 8, 1, 4, 7],
        [1, 4, 7, 0, 3, 6, 9, 2, 5, 8],
    ]
    assert federation.test_y.tolist() == [0, 1]


def test_a_data_set_that_is_not_there_says_what_to_do(served: Any) -> None:
    served.arrays, served.missing = pictures(20), "Import it first."
    with pytest.raises(FederationError, match="Import it first"):
        federate(clients=2)


def test_no_test_set_at_all_is_an_error() -> None:
    with pytest.raises(FederationError, match=r"lower hybrid\.ratio"):
        federate(dataset={"name": "blobs", "train": 100, "test": 0}, clients=50)


def test_evaluation_on_clients_that_hold_nothing_out_is_an_error() -> None:
    with pytest.raises(FederationError, match=r"evaluation\.held_out"):
        federate(evaluation={"on": "clients"}, clients=500)


def test_a_run_may_use_some_of_the_training_samples_and_the_whole_test_set() -> None:
    base = {"name": "blobs", "train": 1000, "test": 50}
    whole, federation, again = federate(), *(federate(dataset={**base, "samples": 200}, seed=seed) for seed in (0, 1))

    assert [len(client.train) for client in federation.clients] == [20] * 10
    assert (federation.x.shape, federation.test_x.shape) == ((200, 20), (50, 20))
    assert np.array_equal(federation.x, again.x)  # the same samples whatever the seed
    places = [int(np.flatnonzero((whole.x == row).all(1))[0]) for row in federation.x]
    assert places == sorted(set(places))
    assert len(federate(dataset={**base, "samples": 5000}).y) == 1000


def test_natural_clients_keep_their_samples() -> None:
    natural = {"dataset": {"name": "uci-har", "samples": 100}, "model": {"name": "mlp-50"}, "clients": 3}
    with pytest.raises(SpecError, match="choose fewer clients instead"):
        spec(**natural, partition={"name": "natural"})
