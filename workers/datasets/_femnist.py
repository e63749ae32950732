"""FEMNIST's two layouts: LEAF json and HDF5, both one entry per writer."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np

from workers.catalog.component import Arrays
from workers.datasets._imported import Report
from workers.datasets._originals import Originals
from workers.errors import DatasetError
from workers.streams import stream

SHAPE = (1, 28, 28)
TEST_SHARE = 10
Samples = tuple[np.ndarray, np.ndarray]
Writers = Mapping[str, Samples]


def collections(originals: Originals, report: Report) -> Iterator[Arrays]:
    """All json files together are one collection, every HDF5 file is one."""
    hdf5 = [path for ending in ("hdf5", "h5") for path in originals.find(f"*.{ending}")]
    if files := originals.find("*.json"):
        yield from_leaf(originals, files, report)
    for done, path in enumerate(hdf5):
        report((1 + done) / (1 + len(hdf5)), path)
        yield split_by_tenths(from_hdf5(originals.read(path), path))
    if not files and not hdf5:
        raise DatasetError(f"No .json and no .hdf5 file in {originals.source}. Give the folder that holds FEMNIST.")


def from_leaf(originals: Originals, files: list[str], report: Report) -> Arrays:
    parts: dict[str, dict[str, Samples]] = {"train": {}, "test": {}}
    for done, path in enumerate(files):
        report(done / len(files) / 2, path)
        part = "train" if "train" in path.split("/")[:-1] else "test"
        parts[part].update(from_json(originals.read(path), path))
    train, test = parts["train"], parts["test"]
    return joined(train, test) if train and test else split_by_tenths({**train, **test})


def from_json(content: bytes, path: str) -> Writers:
    """Pixels are floats k / 255, so bytes hold them exactly."""
    try:
        data = json.loads(content)["user_data"]
        return {name: samples(np.rint(np.array(of["x"]) * 255), of["y"], path) for name, of in data.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{path} is not LEAF's json: {error!r}. Get it again.") from None


def from_hdf5(content: bytes, path: str) -> Writers:
    try:
        with h5py.File(io.BytesIO(content)) as file:
            return {name: samples(of["images"][()], of["labels"][()], path) for name, of in file.items()}
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DatasetError(
            f"{path} is not FEMNIST's HDF5 (writer -> images, labels): {error!r}. Get it again."
        ) from None


def samples(pixels: np.ndarray, labels: Any, path: str) -> Samples:
    y = np.asarray(labels, np.int64).ravel()
    if pixels.size != len(y) * 784:
        raise DatasetError(f"{path}: {pixels.size} pixels for {len(y)} pictures of 28 x 28. Get it again.")
    return pixels.astype(np.uint8).reshape(-1, *SHAPE), y


def split_by_tenths(writers: Writers) -> Arrays:
    """A tenth of each writer's samples, rounded down, is the test set: always the same ones."""
    train, test = {}, {}
    for number, (name, (x, y)) in enumerate(sorted(writers.items())):
        order = stream(0, "data", client=number).permutation(len(y))
        for_test, for_train = np.sort(order[: len(y) // TEST_SHARE]), np.sort(order[len(y) // TEST_SHARE :])
        train[name], test[name] = (x[for_train], y[for_train]), (x[for_test], y[for_test])
    return joined(train, test)


def joined(train: Writers, test: Writers) -> Arrays:
    train_x, train_y, client = stacked(train)
    test_x, test_y, test_client = stacked(test)
    return Arrays(train_x, train_y, test_x, test_y, client, test_client)


def stacked(writers: Writers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    names = sorted(writers)
    x = np.concatenate([writers[name][0] for name in names])
    y = np.concatenate([writers[name][1] for name in names])
    return x, y, np.repeat(names, [len(writers[name][1]) for name in names])


def only_digits(arrays: Arrays) -> Arrays:
    if arrays.client is None or arrays.test_client is None or arrays.train_y.max() < 10:
        return arrays
    train, test = arrays.train_y < 10, arrays.test_y < 10
    return Arrays(
        arrays.train_x[train],
        arrays.train_y[train],
        arrays.test_x[test],
        arrays.test_y[test],
        arrays.client[train],
        arrays.test_client[test],
    )
