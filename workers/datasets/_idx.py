"""The idx format of MNIST and its relatives."""

from __future__ import annotations

import math

import numpy as np

from workers.catalog.component import Arrays
from workers.datasets._fetch import Original, Report
from workers.datasets._imported import ImportedDataset
from workers.datasets._originals import Originals
from workers.errors import DatasetError

BYTES = 0x08


STEMS = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


def parse_idx(content: bytes, what: str) -> np.ndarray:
    """Two zero bytes, the type (bytes only here), the number of dimensions, each as a big-endian int, the values."""
    header = np.frombuffer(content[:4], np.uint8)
    if len(header) < 4 or header[0] or header[1] or header[2] != BYTES:
        raise DatasetError(f"{what} is not an idx file of bytes.")
    start = 4 + 4 * int(header[3])
    shape = tuple(np.frombuffer(content[4:start].ljust(start - 4, b"\0"), ">i4").tolist())
    if len(content) - start != math.prod(shape):
        raise DatasetError(f"{what} is truncated: {len(content) - start} values instead of {math.prod(shape)}.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def idx_files(folders: tuple[str, ...], *md5: str) -> tuple[Original, ...]:
    """The four files, by their checksums in the order of `STEMS`, below each of those addresses."""
    names = [f"{stem}-ubyte.gz" for stem in STEMS]
    return tuple(
        Original(name, tuple(f"{folder}/{name}" for folder in folders), f"md5:{digest}")
        for name, digest in zip(names, md5, strict=True)
    )


class IdxDataset(ImportedDataset):
    """MNIST's four files: pictures get a channel, labels become int64."""

    def read(self, originals: Originals, report: Report) -> Arrays:
        parts = []
        for done, stem in enumerate(STEMS):
            report(done / 4, stem)
            parts.append(parse_idx(originals.one(f"{stem}-ubyte", f"{stem.replace('-idx', '.idx')}-ubyte"), stem))
        return Arrays(parts[0][:, None], parts[1].astype(np.int64), parts[2][:, None], parts[3].astype(np.int64))
