import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.catalog.component import Arrays
from workers.errors import DatasetError

FEMNIST = load_catalog().datasets["femnist"]


def leaf(path: Path, **writers: list[int]) -> None:
    """Each writer's pictures are all of the brightness label / 255."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {name: {"x": [[label / 255] * 784 for label in labels], "y": labels} for name, labels in writers.items()}
    sizes = [len(labels) for labels in writers.values()]
    path.write_text(json.dumps({"users": list(writers), "num_samples": sizes, "user_data": data}))


def hdf5(path: Path, **writers: list[int]) -> None:
    with h5py.File(path, "w") as file:
        for name, labels in writers.items():
            file[f"{name}/images"] = np.full((len(labels), 28, 28), 9, np.uint8)
            file[f"{name}/labels"] = np.array(labels, np.uint8)


def loaded(subset: str = "all") -> Arrays:
    return FEMNIST.load(FEMNIST.Params(subset=subset))


def test_leaf_json_is_read_with_its_writers_as_clients(tmp_path: Path) -> None:
    leaf(tmp_path / "all_data_0.json", b=[61] * 10, a=[3])
    leaf(tmp_path / "all_data_1.json", c=[10] * 9)
    FEMNIST.import_from(tmp_path)
    arrays = loaded()
    assert (arrays.train_x.shape, arrays.train_x.dtype) == ((19, 1, 28, 28), np.uint8)
    assert arrays.client.tolist() == ["a"] + ["b"] * 9 + ["c"] * 9
    assert arrays.train_y.tolist() == [3] + [61] * 9 + [10] * 9
    assert arrays.train_x[:, 0, 0, 0].tolist() == arrays.train_y.tolist()


def test_a_tenth_of_each_writer_rounded_down_is_the_test_set(tmp_path: Path) -> None:
    leaf(tmp_path / "data.json", b=list(range(25)), a=[3] * 9)
    FEMNIST.import_from(tmp_path)
    arrays = loaded()
    assert arrays.test_client.tolist() == ["b", "b"]
    assert sorted([*arrays.train_y[9:].tolist(), *arrays.test_y.tolist()]) == list(range(25))


def test_leafs_own_split_is_kept_where_it_is_there(tmp_path: Path) -> None:
    leaf(tmp_path / "train" / "0.json", a=[1] * 30)
    leaf(tmp_path / "test" / "0.json", a=[2] * 5)
    FEMNIST.import_from(tmp_path)
    arrays = loaded("digits")
    assert (arrays.train_y.tolist(), arrays.test_y.tolist()) == ([1] * 30, [2] * 5)


def test_digits_are_a_data_set_of_ten_classes(tmp_path: Path) -> None:
    leaf(tmp_path / "data.json", a=[1, 2, 61], b=[50])
    FEMNIST.import_from(tmp_path)
    facts = FEMNIST.facts(FEMNIST.Params(subset="digits"))
    assert (facts.classes, facts.class_names, facts.train, facts.natural_clients) == (10, tuple("0123456789"), 2, 1)
    facts = FEMNIST.facts(FEMNIST.Params())
    assert (facts.classes, facts.train, facts.natural_clients) == (62, 4, 2)


def test_hdf5_of_digits_makes_only_the_digits_available(tmp_path: Path) -> None:
    hdf5(tmp_path / "write_digits.hdf5", w2=[0, 1], w1=[9])
    assert list(FEMNIST.import_from(tmp_path)) == ["femnist-digits"]
    assert loaded("digits").client.tolist() == ["w1", "w2", "w2"]
    assert FEMNIST.available(FEMNIST.Params(subset="digits")) is None
    assert "not here yet" in FEMNIST.available(FEMNIST.Params())


def test_digits_come_from_the_originals_with_more_writers(tmp_path: Path) -> None:
    hdf5(tmp_path / "write_digits.hdf5", w1=[1], w2=[2], w3=[3])
    leaf(tmp_path / "leaf" / "0.json", a=[1, 60], b=[2])
    FEMNIST.import_from(tmp_path)
    assert FEMNIST.facts(FEMNIST.Params(subset="digits")).natural_clients == 3
    FEMNIST.import_from(tmp_path / "leaf")
    assert FEMNIST.facts(FEMNIST.Params(subset="digits")).natural_clients == 3
    assert FEMNIST.facts(FEMNIST.Params()).natural_clients == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "is not LEAF's json"),
        ("a.json", b'{"users": []}', "is not LEAF's json"),
        ("a.json", b'{"user_data": {"w": {"x": [[0.5]], "y": [1]}}}', "1 pixels for 1 pictures of 28 x 28"),
        ("a.hdf5", b"rubbish", "is not FEMNIST's HDF5"),
        ("a.txt", b"", "No .json and no .hdf5 file"),
    ],
)
def test_what_is_not_femnist_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    folder = tmp_path / "originals"
    folder.mkdir()
    (folder / name).write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        FEMNIST.import_from(folder)
