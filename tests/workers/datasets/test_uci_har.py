import zipfile
from pathlib import Path

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.errors import DatasetError

HAR = load_catalog().datasets["uci-har"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "UCI HAR Dataset"
    for split, labels, subjects in (("train", [1, 6, 3], [7, 1, 7]), ("test", [2, 5], [2, 2])):
        (root / split).mkdir(parents=True)
        rows = [" ".join(f" {number / 1000:.7e}" for number in range(561)) for _ in labels]
        (root / split / f"X_{split}.txt").write_text("\n".join(rows) + "\n")
        (root / split / f"y_{split}.txt").write_text("".join(f"{label} \n" for label in labels))
        (root / split / f"subject_{split}.txt").write_text("".join(f"{subject}\n" for subject in subjects))
    return root


def test_it_reads_the_folder(folder: Path) -> None:
    HAR.import_from(folder)
    arrays = HAR.load(HAR.Params())
    assert (arrays.train_x.shape, arrays.train_x.dtype) == ((3, 561), np.float32)
    assert arrays.train_x[2, [0, 1, 560]].tolist() == pytest.approx([0.0, 0.001, 0.56])
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([0, 5, 2], [1, 4])


def test_natural_clients_are_the_training_subjects_and_the_test_set_is_common(folder: Path) -> None:
    HAR.import_from(folder)
    arrays = HAR.load(HAR.Params())
    assert (arrays.client.tolist(), arrays.test_client) == ([7, 1, 7], None)
    assert HAR.facts(HAR.Params()).natural_clients == 2


@pytest.mark.parametrize("nested", [False, True])
def test_it_reads_the_zip_as_published_and_as_the_repository_wraps_it(
    folder: Path, tmp_path: Path, nested: bool
) -> None:
    with zipfile.ZipFile(tmp_path / "har.zip", "w") as archive:
        for path in folder.rglob("*.txt"):
            archive.write(path, path.relative_to(tmp_path))
    if nested:
        with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
            archive.write(tmp_path / "har.zip", "UCI HAR Dataset.zip")
    HAR.import_from(tmp_path / ("outer.zip" if nested else "har.zip"))
    assert HAR.facts(HAR.Params()).train == 3


def test_rows_that_are_not_561_long_are_refused(folder: Path) -> None:
    (folder / "train" / "X_train.txt").write_text("1.0 2.0\n")
    with pytest.raises(DatasetError, match=r"X_train\.txt has 2 values, which is no multiple of 561"):
        HAR.import_from(folder)


def test_text_among_the_numbers_is_refused(folder: Path) -> None:
    (folder / "train" / "y_train.txt").write_text("1\nwalking\n")
    with pytest.raises(DatasetError, match="holds something else"):
        HAR.import_from(folder)


def test_as_many_subjects_as_labels_are_needed(folder: Path) -> None:
    (folder / "test" / "subject_test.txt").write_text("2\n")
    with pytest.raises(DatasetError, match="2 test labels, but 1 subjects"):
        HAR.import_from(folder)
