"""Reading a .npz file that anybody may have made: nothing in it is trusted, and what is wrong is the file's fault."""

from __future__ import annotations

import io
import math
import zipfile

import numpy as np

from workers.catalog.component import Arrays
from workers.errors import DatasetError
from workers.memory import allowed_memory

MOST_BYTES = 8 * 2**30
KEYS = ("x", "y", "client", "x_test", "y_test")


def own_arrays(content: bytes, path: str) -> Arrays:
    given = read(content, path)
    if missing := {"x", "y"} - set(given):
        raise DatasetError(f"{path} has no {' and no '.join(sorted(missing))}.")
    train_x, train_y = samples(given["x"], path), labels(given["y"], path)
    test_x = samples(given["x_test"], path) if "x_test" in given else train_x[:0]
    test_y = labels(given["y_test"], path) if "y_test" in given else train_y[:0]
    return Arrays(train_x, train_y, test_x, test_y, clients(given.get("client"), train_y, path))


def read(content: bytes, path: str) -> dict[str, np.ndarray]:
    """Zip, compression, headers and numbers each fail in many ways of their own."""
    try:
        refuse_oversize(content, path)
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            return {key: found[key] for key in KEYS if key in found}
    except (DatasetError, MemoryError):
        raise
    except Exception as error:
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise DatasetError(f"{path} cannot be read: {told}") from None


def refuse_oversize(content: bytes, path: str) -> None:
    """By what the file says of itself, before anything is unpacked: a small file can stand for terabytes."""
    most = min(MOST_BYTES, allowed_memory() // 2)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        wanted = [info for info in archive.infolist() if info.filename.removesuffix(".npy") in KEYS]
        if sum(max(info.file_size, claimed_bytes(archive, info)) for info in wanted) > most:
            raise DatasetError(f"{path} holds more than {most / 2**30:.0f} GB of numbers: split it up.")


def claimed_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """The size of the array by its own header, for which numpy makes room before it reads; or of what it becomes."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
    return math.prod(shape) * (1 if dtype == np.uint8 else max(dtype.itemsize, 4))


def samples(x: np.ndarray, path: str) -> np.ndarray:
    """Channel first; bytes stay bytes, all else becomes float32."""
    if x.dtype.kind not in "biuf" or x.ndim not in (2, 3, 4):
        found = f"it is {x.dtype} with {x.ndim} axes"
        raise DatasetError(f"{path}: x should hold numbers, as samples x features or as pictures; {found}.")
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


def labels(y: np.ndarray, path: str) -> np.ndarray:
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise DatasetError(f"{path}: labels should be one integer from 0 for each sample.")
    return y.astype(np.int64)


def clients(client: np.ndarray | None, train_y: np.ndarray, path: str) -> np.ndarray | None:
    if client is not None and (client.shape != train_y.shape or client.dtype.kind not in "iuSU"):
        raise DatasetError(f"{path}: `client` should name one client for each of the {len(train_y)} samples.")
    return client
