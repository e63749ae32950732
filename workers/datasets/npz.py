"""A .npz file that anybody may have made: nothing in it is trusted, and what is wrong is the file's fault."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from workers.catalog.component import Arrays, DatasetFacts, DatasetParameters
from workers.datasets import _cache
from workers.datasets._fetch import Report
from workers.datasets._imported import ImportedDataset
from workers.datasets._originals import Originals, refuse_bomb
from workers.errors import DatasetError, Problem
from workers.memory import allowed_memory

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
        manifest = _cache.manifest_of(self.cache_name(params))
        facts = super().facts(params)
        return replace(facts, classes=max(2, manifest.classes)) if manifest else replace(facts, classes=2)

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
        if not (paths := originals.find("*.npz")):
            raise DatasetError(f"No .npz file in {originals.source}.")
        for done, path in enumerate(paths):
            report(done / len(paths), path)
            yield f"npz-{valid_name(Path(path).stem)}", parse_npz(originals.read(path), path)

    def read(self, originals: Originals, report: Report) -> Arrays:
        return next(arrays for _, arrays in self.parts(originals, report))


def valid_name(stem: str) -> str:
    name = re.sub(r"[ .]+", "-", stem.lower())
    if not re.match(NAME, name):
        raise DatasetError(f"{stem}.npz: name it with small letters, digits, - and _ only.")
    return name


def parse_npz(content: bytes, path: str) -> Arrays:
    arrays = read_arrays(content, path)
    if missing := {"x", "y"} - set(arrays):
        raise DatasetError(f"{path} has no {' and no '.join(sorted(missing))}.")
    train_x, train_y = sample_array(arrays["x"], path), label_array(arrays["y"], path)
    test_x = sample_array(arrays["x_test"], path) if "x_test" in arrays else train_x[:0]
    test_y = label_array(arrays["y_test"], path) if "y_test" in arrays else train_y[:0]
    return Arrays(train_x, train_y, test_x, test_y, client_array(arrays.get("client"), train_y, path))


def read_arrays(content: bytes, path: str) -> dict[str, np.ndarray]:
    """Zip, compression, headers and numbers each fail in many ways of their own."""
    try:
        refuse_oversize(content, path)
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {key: archive[key] for key in KEYS if key in archive}
    except (DatasetError, MemoryError):
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DatasetError(f"{path} cannot be read: {reason}") from None


def refuse_oversize(content: bytes, path: str) -> None:
    """By what the file says of itself, before anything is unpacked: a small file can stand for terabytes."""
    most = min(MOST_BYTES, allowed_memory() // 2)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [info for info in archive.infolist() if info.filename.removesuffix(".npy") in KEYS]
        if sum(max(info.file_size, claimed_bytes(archive, info)) for info in members) > most:
            raise DatasetError(f"{path} holds more than {most / 2**30:.0f} GB of numbers: split it up.")
        for info in members:
            refuse_bomb(f"{info.filename} in {path}", info.file_size, info.compress_size)


def claimed_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """The size of the array by its own header, for which numpy makes room before it reads; or of what it becomes."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
    return math.prod(shape) * (1 if dtype == np.uint8 else max(dtype.itemsize, 4))


def sample_array(x: np.ndarray, path: str) -> np.ndarray:
    """Channel first; bytes stay bytes, all else becomes float32."""
    if x.dtype.kind not in "biuf" or x.ndim not in (2, 3, 4):
        actual = f"it is {x.dtype} with {x.ndim} axes"
        raise DatasetError(f"{path}: x should hold numbers, as samples x features or as pictures; {actual}.")
    if x.ndim == 3:
        x = x[:, None]
    elif x.ndim == 4 and x.shape[-1] in (1, 3, 4) and x.shape[1] not in (1, 3, 4):
        x = x.transpose(0, 3, 1, 2)
    if x.dtype == np.uint8:
        return x
    with np.errstate(over="ignore"):
        numbers: np.ndarray = x.astype(np.float32)
    if not np.isfinite(numbers).all():
        raise DatasetError(f"{path}: x holds values that are no finite numbers: fill them in or leave the samples out.")
    return numbers


def label_array(y: np.ndarray, path: str) -> np.ndarray:
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise DatasetError(f"{path}: labels should be one integer from 0 for each sample.")
    return y.astype(np.int64)


def client_array(client: np.ndarray | None, train_y: np.ndarray, path: str) -> np.ndarray | None:
    if client is not None and (client.shape != train_y.shape or client.dtype.kind not in "iuSU"):
        raise DatasetError(f"{path}: `client` should name one client for each of the {len(train_y)} samples.")
    return client
