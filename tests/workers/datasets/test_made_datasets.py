"""Data that is made, not imported: blobs and FedProx's Synthetic(alpha, beta)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.catalog.component import Arrays
from workers.errors import SpecError
from workers.spec import expand, parse_run


def load_dataset(name: str, **params: Any) -> Arrays:
    dataset = load_catalog().datasets[name]
    return dataset.load(dataset.Params(**params))


def test_blobs_have_the_shape_and_balance_that_was_asked_for() -> None:
    arrays = load_dataset("blobs", shape=(3, 4, 5), classes=7, train=70, test=14)
    assert (arrays.train_x.shape, arrays.test_x.shape, arrays.train_x.dtype) == (
        (70, 3, 4, 5),
        (14, 3, 4, 5),
        np.float32,
    )
    assert np.bincount(arrays.train_y).tolist() == [10] * 7
    assert (arrays.train_x.min() >= 0, arrays.train_x.max() <= 1) == (True, True)


def test_blobs_are_the_same_each_time() -> None:
    assert np.array_equal(load_dataset("blobs").train_x, load_dataset("blobs").train_x)


def test_without_spread_every_sample_is_its_class_centre() -> None:
    arrays = load_dataset("blobs", spread=0.0, classes=3, train=30, test=3)
    assert len(np.unique(arrays.train_x, axis=0)) == 3
    assert len(np.unique(np.concatenate([arrays.train_x, arrays.test_x]), axis=0)) == 3


def test_a_shape_in_a_grid_is_written_as_a_list_in_a_list() -> None:
    block = {
        "dataset": {"name": "blobs", "shape": [[1, 8, 8], [20]]},
        "model": {"name": "logistic"},
        "strategy": {"name": "fedavg"},
    }
    assert [run.spec.dataset_facts.shape for run in expand([block]).runs] == [(1, 8, 8), (20,)]


@pytest.mark.parametrize("shape", [[], [0], [1, 2, 3, 4], ["a"], 5])
def test_a_shape_that_makes_no_sense_is_refused(shape: object) -> None:
    spec = {"dataset": {"name": "blobs", "shape": shape}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}
    with pytest.raises(SpecError) as caught:
        parse_run(spec)
    assert all(each.path.startswith("dataset.shape") for each in caught.value.errors)


def test_blobs_too_large_for_memory_are_refused() -> None:
    dataset = {"name": "blobs", "train": 10**9, "shape": [100]}
    with pytest.raises(SpecError, match="fewer samples or smaller ones"):
        parse_run({"dataset": dataset, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}})


def test_synthetic_has_the_facts_that_it_states_before_it_is_made() -> None:
    dataset = load_catalog().datasets["synthetic"]
    facts, arrays = dataset.facts(dataset.Params()), load_dataset("synthetic")
    assert (facts.train, facts.test, facts.natural_clients) == (len(arrays.train_y), len(arrays.test_y), 30)
    assert (facts.shape, facts.classes) == ((60,), 10)
    assert np.unique(arrays.client).tolist() == list(range(30))


def test_a_tenth_of_each_synthetic_client_is_for_testing() -> None:
    arrays = load_dataset("synthetic", devices=20)
    train, test = np.bincount(arrays.client), np.bincount(arrays.test_client)
    assert ((train + test) // 10).tolist() == test.tolist()
    assert (train + test).min() >= 50


def test_a_synthetic_clients_data_does_not_depend_on_the_others() -> None:
    few, many = load_dataset("synthetic", devices=3), load_dataset("synthetic", devices=9)
    assert np.array_equal(few.train_x, many.train_x[many.client < 3])
    assert np.array_equal(few.train_y, many.train_y[many.client < 3])


def test_synthetic_features_have_the_variances_of_the_paper() -> None:
    """S_jj = j^-1.2: the second feature varies 2^-0.6 = 0.66 as much as the first."""
    arrays = load_dataset("synthetic", devices=12)
    mine = arrays.train_x[arrays.client == np.bincount(arrays.client).argmax()]
    assert mine[:, 0].std() == pytest.approx(1.0, rel=0.06)
    assert mine[:, 1].std() == pytest.approx(0.66, rel=0.06)


def test_beta_moves_the_clients_apart() -> None:
    def spread_of_means(beta: float) -> float:
        arrays = load_dataset("synthetic", devices=50, beta=beta)
        return float(np.std([arrays.train_x[arrays.client == each].mean() for each in range(50)]))

    assert spread_of_means(0.0) < 0.3
    assert 2.0 < spread_of_means(3.0) < 4.0


def test_digits_are_scikit_learns_and_come_from_the_cache_after_the_first_time(data_home: Path) -> None:
    from sklearn.datasets import load_digits

    first = load_dataset("digits")
    assert (data_home / "datasets" / "digits" / "manifest.json").exists()
    again = load_dataset("digits")
    pixels, labels = load_digits(return_X_y=True)
    test = np.arange(1797) % 5 == 0
    expected = (pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    for arrays in (first, again):
        assert np.array_equal(arrays.train_x, expected[~test])
        assert np.array_equal(arrays.test_x, expected[test])
        assert np.array_equal(np.concatenate([arrays.train_y, arrays.test_y]), [*labels[~test], *labels[test]])
