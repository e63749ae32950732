"""CIFAR-10 and CIFAR-100, in both versions in which they are published: rows of bytes, and pickled dictionaries."""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

import numpy as np

from workers.catalog.component import HALF, Arrays, DatasetFacts, Normalisation
from workers.datasets._fetch import Original, Report
from workers.datasets._imported import ImportedDataset
from workers.datasets._originals import Originals
from workers.errors import DatasetError

SHAPE = (3, 32, 32)
PIXELS = 3072
# The only names that the publisher's pickles use. Anything else in a pickle could run code.
HARMLESS = {
    ("numpy.core.multiarray", "_reconstruct"): ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"): ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"): ("numpy", "ndarray"),
    ("numpy", "dtype"): ("numpy", "dtype"),
    ("_codecs", "encode"): ("_codecs", "encode"),
}


class HarmlessUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if known := HARMLESS.get((module, name)):
            return super().find_class(*known)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in it")


def read_batches(
    originals: Originals, names: list[str], labels: str, label_bytes: int, report: Report
) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (n, 3, 32, 32) and labels of the named batches, from `name.bin` or else the pickled `name`."""
    pictures, classes = [], []
    for done, name in enumerate(names):
        report(done / len(names), name)
        if originals.find(f"{name}.bin"):
            x, y = from_rows(originals.one(f"{name}.bin"), label_bytes, name)
        else:
            x, y = from_pickle(originals.one(name), labels, name)
        pictures.append(x.reshape(-1, *SHAPE))
        classes.append(y)
    return np.concatenate(pictures), np.concatenate(classes).astype(np.int64)


def from_rows(content: bytes, label_bytes: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Per picture its label bytes (the last one counts: CIFAR-100 has coarse, then fine) and 3,072 pixels."""
    width = label_bytes + PIXELS
    if not content or len(content) % width:
        raise DatasetError(f"{name}.bin has {len(content)} bytes, which is no multiple of {width}. Get it again.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, width)
    return rows[:, label_bytes:], rows[:, label_bytes - 1]


def from_pickle(content: bytes, labels: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        batch = HarmlessUnpickler(io.BytesIO(content), encoding="bytes").load()
        fields = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
        x, y = np.asarray(fields["data"], np.uint8), np.asarray(fields[labels])
    except (pickle.UnpicklingError, AttributeError, EOFError, KeyError, ValueError, TypeError) as error:
        raise DatasetError(f"{name} is not a CIFAR batch: {error!r}. Get it again.") from None
    if x.ndim != 2 or x.shape[1] != PIXELS:
        raise DatasetError(f"{name} holds data of shape {x.shape}, not pictures of {PIXELS} bytes.")
    return x, y


CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


class Cifar10(ImportedDataset):
    """60,000 colour pictures of 32 x 32 pixels in ten classes: 50,000 to train, 10,000 to test.

    Originals: the binary version (`data_batch_1.bin`, ...) or the python version (`data_batch_1`, ...), unpacked or
    not. Pixels in [0, 1]; `mazarakis-2023` normalises with that study's constants, `half` with mean and std 0.5.
    """

    name = "cifar10"
    label = "CIFAR-10"
    paper = "Krizhevsky: Learning Multiple Layers of Features from Tiny Images, 2009"
    licence: ClassVar[str] = "none stated"
    published: ClassVar[DatasetFacts] = DatasetFacts(SHAPE, 10, 50_000, 10_000, class_names=CLASSES)
    originals: ClassVar[tuple[Original, ...]] = (
        Original(
            "cifar-10-python.tar.gz",
            ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
            "md5:c58f30108f718f92721af3b95e74349a",
        ),
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {
        "mazarakis-2023": Normalisation((0.507, 0.486, 0.440), (0.267, 0.256, 0.276)),
        "half": HALF,
    }

    def read(self, originals: Originals, report: Report) -> Arrays:
        batches = [f"data_batch_{number}" for number in range(1, 6)]
        train = read_batches(originals, batches, "labels", 1, report)
        return Arrays(*train, *read_batches(originals, ["test_batch"], "labels", 1, report))


class Cifar100(ImportedDataset):
    """60,000 colour pictures of 32 x 32 pixels in 100 (fine) classes: 50,000 to train, 10,000 to test.

    Originals: the binary version (`train.bin`, `test.bin`) or the python version (`train`, `test`), unpacked or not.
    Normalised with Mazarakis 2023's constants by default; `none` leaves pixels in [0, 1].
    """

    name = "cifar100"
    label = "CIFAR-100"
    paper = "Krizhevsky: Learning Multiple Layers of Features from Tiny Images, 2009"
    licence: ClassVar[str] = "none stated"
    published: ClassVar[DatasetFacts] = DatasetFacts(SHAPE, 100, 50_000, 10_000)
    originals: ClassVar[tuple[Original, ...]] = (
        Original(
            "cifar-100-python.tar.gz",
            ("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",),
            "md5:eb9058c3a382ffc7106e4002c42a8d85",
        ),
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {
        "default": Normalisation((0.507, 0.486, 0.440), (0.267, 0.256, 0.276))
    }

    def read(self, originals: Originals, report: Report) -> Arrays:
        train = read_batches(originals, ["train"], "fine_labels", 2, report)
        return Arrays(*train, *read_batches(originals, ["test"], "fine_labels", 2, report))
