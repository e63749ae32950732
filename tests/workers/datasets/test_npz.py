import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.engine.federation import make_federation
from workers.errors import DatasetError, SpecError
from workers.spec import parse_run

NPZ = load_catalog().datasets["npz"]


def spec(**fields: Any) -> Any:
    base = {"dataset": {"name": "npz", "file": "ours"}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}
    return parse_run({**base, **fields})


def test_a_labs_own_file_becomes_a_data_set_with_natural_clients(tmp_path: Path) -> None:
    labels = np.tile(np.arange(3, dtype=np.uint8), 20)
    np.savez(tmp_path / "Ours.npz", x=np.ones((60, 4)), y=labels, client=np.repeat(["ann", "bob", "cy"], 20))
    assert list(NPZ.import_from(tmp_path / "Ours.npz")) == ["npz-ours"]
    federation = make_federation(spec(partition={"name": "natural"}, clients=None))
    assert (federation.x.dtype, federation.x.shape) == (np.float32, (60, 4))
    assert [(len(client.train), len(client.held_out)) for client in federation.clients] == [(16, 4)] * 3
    assert len(federation.test_y) == 12


def test_facts_come_from_the_file(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "ours.npz",
        x=np.zeros((6, 8, 8), np.uint8),
        y=np.arange(6),
        x_test=np.zeros((2, 8, 8)),
        y_test=[0, 7],
    )
    NPZ.import_from(tmp_path)
    facts = NPZ.facts(NPZ.Params(file="ours"))
    assert (facts.shape, facts.classes, facts.train, facts.test) == ((1, 8, 8), 8, 6, 2)
    assert facts.natural_clients is None


@pytest.mark.parametrize(
    ("stored_shape", "shape"), [((5, 9, 8, 3), (5, 3, 9, 8)), ((5, 3, 9, 8), (5, 3, 9, 8)), ((5, 9, 8), (5, 1, 9, 8))]
)
def test_pictures_are_put_channel_first(tmp_path: Path, stored_shape: tuple[int, ...], shape: tuple[int, ...]) -> None:
    np.savez(tmp_path / "ours.npz", x=np.zeros(stored_shape, np.uint8), y=np.zeros(5, int))
    NPZ.import_from(tmp_path)
    assert NPZ.load(NPZ.Params(file="ours")).train_x.shape == shape


def test_a_file_that_was_not_imported_is_refused_at_validation() -> None:
    with pytest.raises(SpecError) as caught:
        spec()
    assert [(each.path, each.message) for each in caught.value.errors] == [
        ("dataset.file", "No ours.npz was imported: run `manage.py datasets import npz PATH/ours.npz` first.")
    ]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 3))}, "has no y"),
        ({"x": np.zeros((2, 3)), "y": np.array([0.5, 1.0])}, "one integer from 0"),
        ({"x": np.zeros((2, 3)), "y": np.array([0, -1])}, "labels from -1 to 0"),
        ({"x": np.zeros((2, 3)), "y": np.array([0, 1, 1])}, "2 training samples, but 3 labels"),
        ({"x": np.zeros((2, 3)), "y": np.array([0, 1]), "client": np.array([1])}, "one client for each of the 2"),
        ({"x": np.zeros((0, 3)), "y": np.zeros(0, int)}, "no training samples"),
        ({"x": np.array([None, {}]), "y": np.array([0, 1])}, "cannot be read"),
    ],
)
def test_files_that_cannot_be_used_say_why(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "ours.npz", allow_pickle=True, **arrays)
    with pytest.raises(DatasetError, match=message):
        NPZ.import_from(tmp_path)


def test_a_file_needs_a_plain_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "né.npz", x=np.zeros((2, 3)), y=np.array([0, 1]))
    with pytest.raises(DatasetError, match="small letters, digits"):
        NPZ.import_from(tmp_path)


@pytest.mark.parametrize("file", ["../secrets", "a/b", "", ".hidden"])
def test_the_name_in_a_spec_cannot_leave_the_folder(file: str) -> None:
    with pytest.raises(SpecError, match=r"dataset\.file"):
        spec(dataset={"name": "npz", "file": file})


def header_claiming(shape: str) -> bytes:
    """A .npy file whose header says more than follows."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def test_a_small_file_that_stands_for_terabytes_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("x.npy", header_claiming("(1000000000000, 2)"))
        archive.writestr("y.npy", header_claiming("(2,)"))
    with pytest.raises(DatasetError, match=r"bomb\.npz holds more than 8 GB of numbers"):
        NPZ.import_from(tmp_path / "bomb.npz")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", x=np.array([{"a": 1}, None], dtype=object), y=np.arange(2))
    with pytest.raises(DatasetError, match=r"objects\.npz cannot be read"):
        NPZ.import_from(tmp_path / "objects.npz")


def test_each_imported_file_is_an_edition(tmp_path: Path) -> None:
    assert NPZ.editions() == []
    for name in ("b", "a"):
        np.savez(tmp_path / f"{name}.npz", x=np.ones((4, 2)), y=np.arange(4))
    NPZ.import_from(tmp_path)
    assert [params.file for params in NPZ.editions()] == ["a", "b"]
