"""Parsed data sets as checksummed .npy files under TRIBUTARY_HOME/datasets/<name>/, memory-mapped for a run.

Files are named by their content and `manifest.json` says which belong together, so replacing the manifest replaces the
data set in one step. A file whose size or time of change is not the recorded one is hashed before it is used; `verify`
hashes all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from workers.catalog.component import Arrays
from workers.errors import DatasetError
from workers.home import home

MANIFEST = "manifest.json"
FORMAT = 1


class CacheDamageError(DatasetError):
    """Files that are missing, truncated or changed."""


@dataclass(frozen=True)
class Entry:
    file: str
    sha256: str
    bytes: int
    changed: int


@dataclass(frozen=True)
class Manifest:
    """What is in the cache: facts (`classes` as far as they occur), files, and where the originals were.

    A lab's own tables and pictures also say the names of their classes, and how they were prepared.
    """

    checksum: str
    source: str
    shape: tuple[int, ...]
    classes: int
    train: int
    test: int
    natural_clients: int | None
    entries: Mapping[str, Entry]
    class_names: tuple[str, ...] = ()
    preparation: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(entry.bytes for entry in self.entries.values())


def folder_of(name: str) -> Path:
    return home() / "datasets" / name


def manifest_of(name: str) -> Manifest | None:
    """None where the data set is not in the cache, or was written in another format."""
    path = folder_of(name) / MANIFEST
    try:
        stat = path.stat()
        return parse_manifest(path, (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino))
    except FileNotFoundError:
        return None


@lru_cache(maxsize=64)
def parse_manifest(path: Path, state: tuple[int, ...]) -> Manifest | None:
    """`state` is another for every file that was ever in its place."""
    try:
        data = json.loads(path.read_text())
        if data.pop("format") != FORMAT:
            return None
        entries = {key: Entry(**entry) for key, entry in data.pop("entries").items()}
        tuples = {key: tuple(data[key]) for key in ("shape", "class_names") if key in data}
        return Manifest(**{**data, **tuples}, entries=entries)
    except (ValueError, KeyError, TypeError):
        return None


def store(
    name: str,
    arrays: Arrays,
    source: Path,
    *,
    class_names: tuple[str, ...] = (),
    preparation: Mapping[str, Any] | None = None,
) -> Manifest:
    folder = folder_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    by_field = {field.name: getattr(arrays, field.name) for field in fields(arrays)}
    entries = {key: write_array(folder, key, array) for key, array in by_field.items() if array is not None}
    manifest = Manifest(
        checksum=combined_checksum(entries, class_names),
        source=str(source.resolve()),
        shape=arrays.train_x.shape[1:],
        classes=1 + max(int(labels.max()) for labels in (arrays.train_y, arrays.test_y) if len(labels)),
        train=len(arrays.train_y),
        test=len(arrays.test_y),
        natural_clients=None if arrays.client is None else len(np.unique(arrays.client)),
        entries=entries,
        class_names=class_names,
        preparation=preparation or {},
    )
    put_manifest(folder, manifest)
    return manifest


def put_manifest(folder: Path, manifest: Manifest) -> None:
    with part_file(folder) as part:
        part.write_text(json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1))
        part.replace(folder / MANIFEST)
    remove_strays(folder, manifest)


def adopt(name: str, draft: Path, checksum: str) -> None:
    """What another machine wrote, from a folder beside: every file is hashed, and all of them make that checksum."""
    manifest = parse_manifest(draft / MANIFEST, (0,))
    if manifest is None or any(Path(entry.file).name != entry.file for entry in manifest.entries.values()):
        raise CacheDamageError("its manifest cannot be used")
    if combined_checksum(manifest.entries, manifest.class_names) != checksum:
        raise CacheDamageError(f"its files do not make the checksum {checksum[:12]}")
    for entry in manifest.entries.values():
        check_content(draft / entry.file, entry)
        os.utime(draft / entry.file, ns=(entry.changed, entry.changed))
    folder = folder_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    for entry in manifest.entries.values():
        (draft / entry.file).replace(folder / entry.file)
    put_manifest(folder, manifest)


def write_array(folder: Path, key: str, array: np.ndarray) -> Entry:
    with part_file(folder) as part:
        with part.open("wb") as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        digest = sha256(part)
        path = part.replace(folder / f"{key}-{digest[:12]}.npy")
    stat = path.stat()
    return Entry(path.name, digest, stat.st_size, stat.st_mtime_ns)


@contextmanager
def part_file(folder: Path) -> Iterator[Path]:
    """A file to write and then move to its place; nothing stays behind where that fails."""
    handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def combined_checksum(entries: Mapping[str, Entry], class_names: tuple[str, ...]) -> str:
    """Names of classes are names of metrics: where a set brings its own, they are part of what it is."""
    text = "\n".join(f"{key} {entry.sha256}" for key, entry in sorted(entries.items()))
    if class_names:
        text += f"\nclass_names {json.dumps(class_names)}"
    return hashlib.sha256(text.encode()).hexdigest()


def remove_strays(folder: Path, manifest: Manifest) -> None:
    """Files of earlier imports. Runs that have them mapped keep them until they end."""
    current = {entry.file for entry in manifest.entries.values()}
    for path in folder.glob("*.npy"):
        if path.name not in current:
            path.unlink(missing_ok=True)


def load(name: str, manifest: Manifest) -> Arrays:
    """Memory-mapped, copy on write: a run may not change what is on disk."""
    folder = folder_of(name)
    for entry in manifest.entries.values():
        check_file(folder / entry.file, entry)
    arrays = {key: np.load(folder / entry.file, mmap_mode="c") for key, entry in manifest.entries.items()}
    return Arrays(**arrays)


def check_file(path: Path, entry: Entry) -> None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise CacheDamageError(f"{path} is missing.") from None
    if stat.st_size != entry.bytes:
        raise CacheDamageError(f"{path} has {stat.st_size} bytes instead of {entry.bytes}.")
    if stat.st_mtime_ns != entry.changed:
        check_content(path, entry)
        os.utime(path, ns=(entry.changed, entry.changed))


def check_content(path: Path, entry: Entry) -> None:
    if sha256(path) != entry.sha256:
        raise CacheDamageError(f"{path} is not what was written: its checksum differs.")


def verify(name: str, manifest: Manifest) -> Iterator[str]:
    """Hashes every file; yields what is wrong."""
    for entry in manifest.entries.values():
        path = folder_of(name) / entry.file
        try:
            check_file(path, entry)
            check_content(path, entry)
        except CacheDamageError as error:
            yield error.detail


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
