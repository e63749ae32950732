"""FEMNIST, in the two layouts in which labs have it: LEAF json and HDF5, both one entry per writer."""

from __future__ import annotations

import io
import json
import string
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from workers.catalog.component import Arrays, DatasetFacts, DatasetParameters, Normalisation
from workers.datasets import _cache
from workers.datasets._fetch import Report
from workers.datasets._imported import ImportedDataset
from workers.datasets._originals import Originals
from workers.errors import DatasetError
from workers.streams import stream

CLASSES = tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase)
DIGITS = 10
DIGITS_CACHE = "femnist-digits"
SHAPE = (1, 28, 28)
TEST_SHARE = 10
Samples = tuple[np.ndarray, np.ndarray]
Writers = Mapping[str, Samples]


class FemnistParameters(DatasetParameters):
    subset: Literal["all", "digits"] = "all"
    """all: 62 classes (digits, capitals, small letters). digits: the ten digits only."""


class Femnist(ImportedDataset):
    """Handwritten characters of 28 x 28 pixels by 3,597 writers, who are the natural clients.

    A tenth of every writer's samples, drawn once and for all, is the test set (LEAF's own split where both its `train`
    and `test` folders are there); a federation of some writers is tested on theirs. Originals: LEAF json files, or HDF5
    (writer -> images, labels). Ink is dark on white. Pixels in [0, 1]; `iaisy-2024` normalises with mean 0.5, std 0.5.
    """

    name = "femnist"
    label = "FEMNIST"
    paper = "Caldas et al.: LEAF: A Benchmark for Federated Settings, 2018"
    licence: ClassVar[str] = "BSD-2 (LEAF)"
    Params = FemnistParameters
    published: ClassVar[DatasetFacts] = DatasetFacts(SHAPE, 62, 732_849, 81_428, 3_597, CLASSES)
    no_fetch: ClassVar[str] = (
        "LEAF publishes FEMNIST as a program that makes it from NIST's forms, not as files: run that first, or take "
        "an HDF5 file of it."
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {"iaisy-2024": Normalisation((0.5,), (0.5,))}

    def editions(self) -> list[Any]:
        return [self.Params(), self.Params(subset="digits")]

    def cache_name(self, params: Any) -> str:
        return self.name if params.subset == "all" else DIGITS_CACHE

    def facts(self, params: Any) -> DatasetFacts:
        facts = super().facts(params)
        return facts if params.subset == "all" else replace(facts, classes=DIGITS, class_names=CLASSES[:DIGITS])

    def read(self, originals: Originals, report: Report) -> Arrays:
        return next(arrays for _, arrays in self.parts(originals, report))

    def parts(self, originals: Originals, report: Report) -> Iterator[tuple[str, Arrays]]:
        """Digits come from whichever originals have more writers: those of digits only, or all 62 classes."""
        for arrays in read_collections(originals, report):
            if arrays.train_y.max() >= DIGITS:
                yield self.name, arrays
            digits = digits_only(arrays)
            manifest = _cache.manifest_of(DIGITS_CACHE)
            if not manifest or count_writers(digits) >= (manifest.natural_clients or 0):
                yield DIGITS_CACHE, digits


def count_writers(arrays: Arrays) -> int:
    return len(set(arrays.client.tolist())) if arrays.client is not None else 0


def read_collections(originals: Originals, report: Report) -> Iterator[Arrays]:
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
    return join_parts(train, test) if train and test else split_by_tenths({**train, **test})


def from_json(content: bytes, path: str) -> Writers:
    """Pixels are floats k / 255, so bytes hold them exactly."""
    try:
        data = json.loads(content)["user_data"]
        return {name: writer_samples(np.rint(np.array(of["x"]) * 255), of["y"], path) for name, of in data.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{path} is not LEAF's json: {error!r}. Get it again.") from None


def from_hdf5(content: bytes, path: str) -> Writers:
    import h5py  # type: ignore[import-untyped]

    try:
        with h5py.File(io.BytesIO(content)) as file:
            return {name: writer_samples(of["images"][()], of["labels"][()], path) for name, of in file.items()}
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DatasetError(
            f"{path} is not FEMNIST's HDF5 (writer -> images, labels): {error!r}. Get it again."
        ) from None


def writer_samples(pixels: np.ndarray, labels: Any, path: str) -> Samples:
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
    return join_parts(train, test)


def join_parts(train: Writers, test: Writers) -> Arrays:
    train_x, train_y, client = stack_writers(train)
    test_x, test_y, test_client = stack_writers(test)
    return Arrays(train_x, train_y, test_x, test_y, client, test_client)


def stack_writers(writers: Writers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    names = sorted(writers)
    x = np.concatenate([writers[name][0] for name in names])
    y = np.concatenate([writers[name][1] for name in names])
    return x, y, np.repeat(names, [len(writers[name][1]) for name in names])


def digits_only(arrays: Arrays) -> Arrays:
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
