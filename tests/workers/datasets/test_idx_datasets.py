import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.datasets._enlarge import enlarge_pictures, interpolation_weights
from workers.errors import DatasetError


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.astype(np.uint8).tobytes()


@pytest.fixture
def originals(tmp_path: Path) -> Path:
    folder = tmp_path / "originals"
    folder.mkdir()
    files = {
        "train-images-idx3-ubyte": np.arange(3 * 28 * 28).reshape(3, 28, 28) % 256,
        "train-labels-idx1-ubyte": np.array([9, 0, 4]),
        "t10k-images-idx3-ubyte": np.zeros((2, 28, 28)),
        "t10k-labels-idx1-ubyte": np.array([1, 2]),
    }
    for name, array in files.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
    return folder


@pytest.fixture(params=["mnist", "fashion-mnist"])
def dataset(request: pytest.FixtureRequest) -> Any:
    return load_catalog().datasets[request.param]


def test_it_reads_the_four_files(dataset: Any, originals: Path) -> None:
    dataset.import_from(originals)
    arrays = dataset.load(dataset.Params())
    assert (arrays.train_x.shape, arrays.train_x.dtype, arrays.train_y.dtype) == ((3, 1, 28, 28), np.uint8, np.int64)
    assert arrays.train_x[0, 0, 0, :4].tolist() == [0, 1, 2, 3]
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([9, 0, 4], [1, 2])


def test_before_the_import_it_has_the_published_facts_and_says_what_to_do(dataset: Any) -> None:
    facts = dataset.facts(dataset.Params())
    assert (facts.shape, facts.classes, facts.train, facts.test) == ((1, 28, 28), 10, 60_000, 10_000)
    assert f"manage.py datasets import {dataset.name} PATH" in dataset.available(dataset.Params())
    with pytest.raises(DatasetError, match="is not here yet"):
        dataset.load(dataset.Params())


def test_after_the_import_it_has_the_facts_of_what_is_there(dataset: Any, originals: Path) -> None:
    before = dataset.checksum(dataset.Params())
    manifest = dataset.import_from(originals)[dataset.name]
    facts = dataset.facts(dataset.Params())
    assert (facts.train, facts.test, len(facts.class_names)) == (3, 2, 10)
    assert dataset.available(dataset.Params()) is None
    assert dataset.checksum(dataset.Params()) == manifest.checksum != before


def test_it_reports_its_progress(dataset: Any, originals: Path) -> None:
    seen: list[float] = []
    dataset.import_from(originals, lambda done, what: seen.append(done))
    assert seen == [0.0, 0.225, 0.45, 0.675, 0.9, 1.0]


def test_a_damaged_cache_is_rebuilt_from_the_originals(dataset: Any, originals: Path, data_home: Path) -> None:
    dataset.import_from(originals)
    (file,) = (data_home / "datasets" / dataset.name).glob("train_x-*.npy")
    file.write_bytes(b"rubbish")
    assert dataset.load(dataset.Params()).train_x[0, 0, 0, :4].tolist() == [0, 1, 2, 3]
    assert len(file.read_bytes()) == 128 + 3 * 784


def test_a_damaged_cache_without_originals_is_refused(dataset: Any, originals: Path, data_home: Path) -> None:
    dataset.import_from(originals)
    (file,) = (data_home / "datasets" / dataset.name).glob("train_x-*.npy")
    file.write_bytes(b"rubbish")
    originals.rename(originals.with_name("moved"))
    with pytest.raises(DatasetError, match=r"cache is damaged .*does not exist.*import it again"):
        dataset.load(dataset.Params())


def test_a_damaged_cache_is_not_replaced_by_other_data(dataset: Any, originals: Path, data_home: Path) -> None:
    dataset.import_from(originals)
    for file in (data_home / "datasets" / dataset.name).glob("train_y-*.npy"):
        file.unlink()
    (originals / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.array([1, 1, 1]))))
    with pytest.raises(DatasetError, match=r"have changed: launch the run again"):
        dataset.load(dataset.Params())


def test_labels_out_of_range_are_refused(dataset: Any, originals: Path) -> None:
    (originals / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.array([9, 0, 10]))))
    with pytest.raises(DatasetError, match="training labels from 0 to 10, but there are 10 classes"):
        dataset.import_from(originals)


def test_as_many_labels_as_pictures_are_needed(dataset: Any, originals: Path) -> None:
    (originals / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.array([1]))))
    with pytest.raises(DatasetError, match="2 test samples, but 1 labels"):
        dataset.import_from(originals)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x00\x0d\x01", b"\x00\x00\x08\x03\x00\x00", idx(np.zeros((3, 28, 28)))[:-1]]
)
def test_a_file_that_is_not_whole_is_refused(dataset: Any, originals: Path, content: bytes) -> None:
    (originals / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
    with pytest.raises(DatasetError, match=r"train-images-idx3 is (not an idx file|truncated)"):
        dataset.import_from(originals)


def test_mnist_can_be_enlarged_to_32_pixels(originals: Path) -> None:
    mnist = load_catalog().datasets["mnist"]
    mnist.import_from(originals)  # type: ignore[attr-defined]
    arrays = mnist.load(mnist.Params(side=32))

    assert mnist.facts(mnist.Params(side=32)).shape == (1, 32, 32)
    assert (arrays.train_x.shape, arrays.test_x.shape) == ((3, 1, 32, 32), (2, 1, 32, 32))
    assert arrays.train_x.dtype == np.uint8
    assert mnist.checksum(mnist.Params(side=32)) == mnist.checksum(mnist.Params())


def test_enlarging_interpolates_between_the_two_nearest_pixels() -> None:
    """From 2 to 4 pixels: output centres lie at -0.25, 0.25, 0.75 and 1.25 of the input's."""
    assert interpolation_weights(2, 4).tolist() == [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]
    picture = np.array([[[[0, 100], [0, 100]]]], np.uint8)
    assert enlarge_pictures(picture, 4)[0, 0].tolist() == [[0, 25, 75, 100]] * 4
    assert (enlarge_pictures(np.full((2, 1, 28, 28), 200, np.uint8), 32) == 200).all()
