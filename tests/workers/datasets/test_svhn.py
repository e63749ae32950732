from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from workers.catalog import load_catalog
from workers.errors import DatasetError


def write(folder: Path, split: str, labels: list[int]) -> None:
    pictures = np.zeros((32, 32, 3, len(labels)), np.uint8)
    pictures[4, 5, 2, :] = np.arange(len(labels)) + 1
    savemat(folder / f"{split}_32x32.mat", {"X": pictures, "y": np.array(labels, np.uint8)[:, None]})


def test_it_puts_channels_first_and_calls_ten_zero(tmp_path: Path) -> None:
    write(tmp_path, "train", [10, 1, 9])
    write(tmp_path, "test", [2])
    dataset = load_catalog().datasets["svhn"]
    dataset.import_from(tmp_path)
    arrays = dataset.load(dataset.Params())
    assert (arrays.train_x.shape, arrays.train_x.dtype) == ((3, 3, 32, 32), np.uint8)
    assert arrays.train_y.tolist() == [0, 1, 9]
    assert arrays.train_x[:, 2, 4, 5].tolist() == [1, 2, 3]
    assert arrays.train_x.sum() == 6


def test_a_file_that_is_no_mat_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train_32x32.mat").write_bytes(b"x" * 500)
    with pytest.raises(DatasetError, match=r"Not an SVHN \.mat file"):
        load_catalog().datasets["svhn"].import_from(tmp_path)


def test_pictures_of_another_shape_are_refused(tmp_path: Path) -> None:
    savemat(tmp_path / "train_32x32.mat", {"X": np.zeros((8, 8, 3, 2), np.uint8), "y": np.ones((2, 1))})
    with pytest.raises(DatasetError, match="should be 32 x 32 x 3 x n bytes"):
        load_catalog().datasets["svhn"].import_from(tmp_path)
