"""Data sets and apps come to a machine that has nothing of them, and only as they were launched with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from tests.workers.apps.reference import EXAMPLES
from workers.apps.library import add_app, find_version
from workers.apps.package import AppError
from workers.catalog import load_catalog
from workers.datasets import _cache
from workers.datasets.npz import Npz
from workers.errors import DatasetError
from workers.store.apps import app_bring, app_publish, is_app_here
from workers.store.datasets import dataset_bring, datasets_publish, is_dataset_here
from workers.store.store import Store, StoreError

Machine = Callable[[str], Path]
SPEC: dict[str, Any] = {
    "dataset": {"name": "npz", "file": "flowers"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedavg"},
    "rounds": 1,
}


def import_flowers(folder: Path, seed: int) -> str:
    """The checksum of what was imported."""
    random = np.random.default_rng(seed)
    path = folder / "flowers.npz"
    np.savez(path, x=random.normal(size=(40, 4)).astype("float32"), y=np.arange(40) % 3)
    npz = load_catalog().datasets["npz"]
    assert isinstance(npz, Npz)
    return npz.import_from(path)["npz-flowers"].checksum


def test_a_data_set_comes_by_itself_and_is_what_it_was(store: Store, machine: Machine, tmp_path: Path) -> None:
    checksum = import_flowers(tmp_path, seed=0)
    here = _cache.manifest_of("npz-flowers")
    assert here is not None
    x = np.array(_cache.load("npz-flowers", here).train_x)
    assert datasets_publish() == ["npz-flowers"]
    assert datasets_publish() == []
    machine("second")
    assert not is_dataset_here(SPEC, checksum)
    dataset_bring(SPEC, checksum)
    assert is_dataset_here(SPEC, checksum)
    there = _cache.manifest_of("npz-flowers")
    assert there == here
    assert there is not None
    np.testing.assert_array_equal(_cache.load("npz-flowers", there).train_x, x)
    assert list(_cache.verify("npz-flowers", there)) == []


def test_a_damaged_file_is_brought_again(store: Store, machine: Machine, tmp_path: Path) -> None:
    checksum = import_flowers(tmp_path, seed=0)
    datasets_publish()
    machine("second")
    dataset_bring(SPEC, checksum)
    (file,) = _cache.folder_of("npz-flowers").glob("train_x-*.npy")
    file.write_bytes(file.read_bytes()[:-1])
    assert not is_dataset_here(SPEC, checksum)
    dataset_bring(SPEC, checksum)
    assert is_dataset_here(SPEC, checksum)


def test_data_that_were_replaced_since_the_launch_do_not_come_in_the_place_of_others(
    store: Store, machine: Machine, tmp_path: Path
) -> None:
    before = import_flowers(tmp_path, seed=0)
    datasets_publish()
    machine("second")
    dataset_bring(SPEC, before)
    machine("first")
    now = import_flowers(tmp_path, seed=1)
    assert datasets_publish() == ["npz-flowers"]
    assert store.folders("datasets/npz-flowers") == [now]
    machine("second")
    dataset_bring(SPEC, before)
    assert is_dataset_here(SPEC, before)
    dataset_bring(SPEC, now)
    assert is_dataset_here(SPEC, now)
    assert len(list(_cache.folder_of("npz-flowers").glob("*.npy"))) == 4


def test_data_that_nobody_published_say_what_to_do(store: Store, machine: Machine, tmp_path: Path) -> None:
    checksum = import_flowers(tmp_path, seed=0)
    machine("second")
    with pytest.raises(DatasetError, match=r"run `manage.py store push` on the machine that has it, then retry"):
        dataset_bring(SPEC, checksum)


def test_data_that_are_not_what_they_say_are_refused(store: Store, machine: Machine, tmp_path: Path) -> None:
    checksum = import_flowers(tmp_path, seed=0)
    datasets_publish()
    manifest = _cache.manifest_of("npz-flowers")
    assert manifest is not None
    folder = _cache.folder_of("npz-flowers")
    arrays = {entry.file: folder / entry.file for entry in manifest.entries.values()}
    other = next(iter(arrays))
    forged = tmp_path / "forged.npy"
    np.save(forged, np.zeros(3))
    # A whole bundle with checksums of its own, under the name of another's.
    store.publish(
        f"datasets/npz-flowers/{checksum}", {**arrays, other: forged, _cache.MANIFEST: folder / _cache.MANIFEST}
    )
    machine("second")
    with pytest.raises(StoreError, match=r"The data set npz-flowers in the store .* is not what it says"):
        dataset_bring(SPEC, checksum)
    assert _cache.manifest_of("npz-flowers") is None


def test_data_that_are_made_on_the_spot_are_always_here(store: Store) -> None:
    assert is_dataset_here({**SPEC, "dataset": {"name": "digits"}}, "whatever")


def test_an_app_comes_by_its_hash(store: Store, machine: Machine, tmp_path: Path) -> None:
    source = copytree(EXAMPLES / "numpy-least-squares", tmp_path / "app")
    package = add_app(source)
    assert app_publish(package.name, package.hash)
    assert not app_publish(package.name, package.hash)
    machine("second")
    assert not is_app_here(package.name, package.hash)
    app_bring(package.name, package.hash)
    assert find_version(package.name, package.hash).hash == package.hash
    with pytest.raises(AppError, match=r"run `manage.py store push`"):
        app_bring(package.name, "0" * 64)
