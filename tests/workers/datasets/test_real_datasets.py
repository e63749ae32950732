"""Importers on the real files, in their publishers' own layouts; skipped where they are not beside the repository."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from workers.catalog import load_catalog
from workers.catalog.component import Arrays
from workers.datasets._originals import Originals
from workers.datasets.uci_har import read_split

Real = Callable[[str], Path]


def imported(name: str, folder: Path, **params: object) -> Arrays:
    dataset = load_catalog().datasets[name]
    dataset.import_from(folder)
    return dataset.load(dataset.Params(**params))


def test_mnist_has_60000_and_10000_digits(real: Real) -> None:
    arrays = imported("mnist", real("mnist"))
    assert (arrays.train_x.shape, arrays.test_x.shape) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28))
    assert np.bincount(arrays.train_y).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(arrays.test_y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert arrays.train_y[:5].tolist() == [5, 0, 4, 1, 9]
    assert round(arrays.train_x.mean() / 255, 4) == 0.1307


def test_cifar10_has_5000_and_1000_pictures_of_each_class(real: Real) -> None:
    arrays = imported("cifar10", real("cifar10"))
    assert arrays.train_x.shape == (50_000, 3, 32, 32)
    assert np.bincount(arrays.train_y).tolist() == [5000] * 10
    assert np.bincount(arrays.test_y).tolist() == [1000] * 10
    assert [round(mean, 4) for mean in (arrays.train_x.mean((0, 2, 3)) / 255).tolist()] == [0.4914, 0.4822, 0.4465]


def test_uci_har_is_tested_on_the_nine_other_subjects(real: Real) -> None:
    with Originals(real("uci-har")) as originals:
        _, labels, subjects = read_split(originals, "test")
    assert len(labels) == 2947
    assert np.unique(subjects).tolist() == [2, 4, 9, 10, 12, 13, 18, 20, 24]


def test_uci_har_has_21_training_subjects_and_a_common_test_set(real: Real) -> None:
    arrays = imported("uci-har", real("uci-har"))
    assert (arrays.train_x.shape, arrays.test_x.shape) == ((7352, 561), (2947, 561))
    assert np.bincount(arrays.train_y).tolist() == [1226, 1073, 986, 1286, 1374, 1407]
    assert np.bincount(arrays.test_y).tolist() == [496, 471, 420, 491, 532, 537]
    assert np.unique(arrays.client).tolist() == [
        1,
        3,
        5,
        6,
        7,
        8,
        11,
        14,
        15,
        16,
        17,
        19,
        21,
        22,
        23,
        25,
        26,
        27,
        28,
        29,
        30,
    ]
    assert (float(arrays.train_x.min()), float(arrays.train_x.max())) == (-1.0, 1.0)


def test_the_part_of_svhn_that_is_here(real: Real) -> None:
    arrays = imported("svhn", real("svhn"))
    assert (arrays.train_x.shape, arrays.test_x.shape) == ((24_000, 3, 32, 32), (8_000, 3, 32, 32))
    assert arrays.train_y[:6].tolist() == [1, 9, 2, 3, 2, 5]


def test_femnist_has_28_writers_of_62_classes_and_190_of_digits(real: Real) -> None:
    arrays = imported("femnist", real("femnist"))
    dataset = load_catalog().datasets["femnist"]
    digits = dataset.load(dataset.Params(subset="digits"))
    assert (len(np.unique(arrays.client)), len(np.unique(digits.client))) == (28, 190)
    assert len(np.unique(np.concatenate([arrays.train_y, arrays.test_y]))) == 62
    assert np.unique(digits.train_y).tolist() == list(range(10))
    assert min(np.median(arrays.train_x), np.median(digits.train_x)) == 255
