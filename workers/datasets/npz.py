from __future__ import annotations

import io
import math
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from workers.component import Arrays, DatasetFacts, DatasetParameters
from workers.datasets import _cache
from workers.datasets._imported import ImportedDataset, Report
from workers.datasets._originals import Originals
from workers.errors import DatasetError, Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec

NAME = r"^[a-z0-9][a-z0-9_-]*$"
MOST_CLASSES = 100_000
MOST_BYTES = 8 * 2**30
KEYS = ("x", "y", "client", "x_test", "y_test")


class NpzParameters(DatasetParameters):
    file: str = Field("own", pattern=NAME, max_length=60)
    """Which one: the name of the imported file, without .npz."""


class Npz(ImportedDataset):
    """A lab's own data: one .npz file with `x` and `y`, optionally `client`, `x_test` and `y_test`.

    `x` holds pictures as bytes (n, channels, height, width; one channel or channels last are recognised) or features as
    numbers; `y` classes from 0; `client` each sample's natural client. Without a test set, clients hold a part out.
    """

    name = "npz"
    label = "Own data (.npz)"
    licence: ClassVar[str] = "the lab's own"
    Params = NpzParameters
    no_fetch: ClassVar[str] = "Nobody but this lab has its own data."
    # What a file may hold at most; before one is imported nothing is known, and `problems` says so.
    published: ClassVar[DatasetFacts] = DatasetFacts((1,), MOST_CLASSES, 2**31, 0)

    def editions(self) -> list[Any]:
        names = sorted(path.name.removeprefix("npz-") for path in _cache.folder_of("").glob("npz-*"))
        return [self.Params(file=name) for name in names if _cache.manifest_of(f"npz-{name}")]

    def cache_name(self, params: Any) -> str:
        return f"npz-{params.file}"

    def facts(self, params: Any) -> DatasetFacts:
        known = _cache.manifest_of(self.cache_name(params))
        facts = super().facts(params)
        return replace(facts, classes=max(2, known.classes)) if known else replace(facts, classes=2)

    def available(self, params: Any) -> str | None:
        if _cache.manifest_of(self.cache_name(params)):
            return None
        return f"No {params.file}.npz was imported: run `manage.py datasets import npz PATH/{params.file}.npz` first."

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from super().problems(spec)
        if reason := self.available(spec.dataset):
            yield Problem("dataset.file", reason)

    def parts(self, originals: Originals, report: Report) -> Iterator[tuple[str, Arrays]]:
        """Every .npz file that was given, under its own name."""
        if not (found := originals.find("*.npz")):
            raise DatasetError(f"No .npz file in {originals.source}.")
        for done, path in enumerate(found):
            report(done / len(found), path)
            yield f"npz-{valid_name(Path(path).stem)}", own_arrays(originals.read(path), path)

    def read(self, originals: Originals, report: Report) -> Arrays:
        return next(arrays for _, arrays in self.parts(originals, report))


def valid_name(stem: str) -> str:
    name = re.sub(r"[ .]+", "-", stem.lower())
    if not re.match(NAME, name):
        raise DatasetError(f"{stem}.npz: name it with small letters, digits, - and _ only.")
    return name


def own_arrays(content: bytes, path: str) -> Arrays:
    try:
        refuse_oversize(content, path)
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            given = {key: found[key] for key in KEYS if key in found}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise DatasetError(f"{path} cannot be read: {error}") from None
    if missing := {"x", "y"} - set(given):
        raise DatasetError(f"{path} has no {' and no '.join(sorted(missing))}.")
    train_x = samples(given["x"])
    test_x = samples(given["x_test"]) if "x_test" in given else train_x[:0]
    client = given.get("client")
    if client is not None and client.shape != given["y"].shape:
        raise DatasetError(f"{path}: `client` should name one client for each of the {len(given['y'])} samples.")
    return Arrays(train_x, labels(given["y"], path), test_x, labels(given.get("y_test", given["y"][:0]), path), client)


def refuse_oversize(content: bytes, path: str) -> None:
    """By what the file says of itself, before anything is unpacked: a small file can stand for terabytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        wanted = [info for info in archive.infolist() if info.filename.removesuffix(".npy") in KEYS]
        if sum(max(info.file_size, claimed_bytes(archive, info)) for info in wanted) > MOST_BYTES:
            raise DatasetError(f"{path} holds more than {MOST_BYTES / 2**30:.0f} GB of numbers: split it up.")


def claimed_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """The size of the array by its own header, for which numpy makes room before it reads."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
    return math.prod(shape) * dtype.itemsize


def samples(x: np.ndarray) -> np.ndarray:
    """Channel first; bytes stay bytes, all else becomes float32."""
    if x.ndim == 3:
        x = x[:, None]
    elif x.ndim == 4 and x.shape[-1] in (1, 3, 4) and x.shape[1] not in (1, 3, 4):
        x = x.transpose(0, 3, 1, 2)
    return x if x.dtype == np.uint8 else x.astype(np.float32)


def labels(y: np.ndarray, path: str) -> np.ndarray:
    if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
        raise DatasetError(f"{path}: labels should be one integer from 0 for each sample.")
    return y.astype(np.int64)
