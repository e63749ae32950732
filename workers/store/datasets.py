"""Data sets in the store: whoever imports one puts it there, and a worker that needs one brings it to its home.

Only the version in use is kept. A worker takes no other one into its home: a run that was launched with data which were
replaced since is refused by its identity, as everywhere.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from workers.catalog import load_catalog
from workers.datasets import _cache
from workers.datasets._imported import ImportedDataset
from workers.errors import DatasetError
from workers.spec import RunSpec, is_app
from workers.store.store import NotStoredError, Store, StoreError, remote_store

CURRENT = "current"


def datasets_publish(names: Iterable[str] | None = None) -> list[str]:
    """Those of this home (or those named) that the store does not have as they are here; returns their names."""
    store = remote_store()
    if store is None:
        return []
    imported = (each for each in load_catalog().datasets.values() if isinstance(each, ImportedDataset))
    here = [name for dataset in imported for name in dataset.manifests()]
    return [name for name in (here if names is None else names) if dataset_publish(store, name)]


def dataset_publish(store: Store, name: str) -> bool:
    manifest = _cache.manifest_of(name)
    if manifest is None or stored_checksum(store, name) == manifest.checksum:
        return False
    folder, key = _cache.folder_of(name), f"datasets/{name}/{manifest.checksum}"
    if not store.has_bundle(key):
        files = [entry.file for entry in manifest.entries.values()]
        store.publish(key, {file: folder / file for file in [*files, _cache.MANIFEST]})
    store.write(f"datasets/{name}/{CURRENT}", manifest.checksum.encode())
    for earlier in set(store.folders(f"datasets/{name}")) - {manifest.checksum}:
        store.remove(f"datasets/{name}/{earlier}")
    return True


def stored_checksum(store: Store, name: str) -> str | None:
    try:
        return store.read(f"datasets/{name}/{CURRENT}").decode()
    except NotStoredError:
        return None


def needed_dataset(spec: Mapping[str, Any]) -> tuple[ImportedDataset, str] | None:
    """The data set that a run reads from its home, and its name there; None where it is made on the spot."""
    if is_app(spec):
        return None
    # Not `parse_run`: a spec whose data are not here yet is not valid here yet.
    params = RunSpec.model_validate(dict(spec)).dataset
    dataset = load_catalog().datasets[params.name]
    return (dataset, dataset.cache_name(params)) if isinstance(dataset, ImportedDataset) else None


def is_dataset_here(spec: Mapping[str, Any], checksum: str) -> bool:
    needed = needed_dataset(spec)
    return needed is None or has_whole(needed[1], checksum)


def has_whole(name: str, checksum: str) -> bool:
    """Whether every file of that version is as it was written, as far as its size and time tell."""
    manifest = _cache.manifest_of(name)
    if manifest is None or manifest.checksum != checksum:
        return False
    try:
        for entry in manifest.entries.values():
            _cache.check_file(_cache.folder_of(name) / entry.file, entry)
    except _cache.CacheDamageError:
        return False
    return True


def dataset_bring(spec: Mapping[str, Any], checksum: str) -> None:
    """Into this home, checked against the checksum that the run was launched with. `StoreError` where it cannot be."""
    needed, store = needed_dataset(spec), remote_store()
    if needed is None or store is None:
        return
    dataset, name = needed
    with one_at_a_time(name):
        if has_whole(name, checksum):
            return
        stored = stored_checksum(store, name)
        if stored is None:
            if _cache.manifest_of(name) is None:
                raise DatasetError(
                    f"{dataset.label} is neither on this machine nor in the store {store.label}: run `manage.py store "
                    "push` on the machine that has it, then retry."
                )
            return  # The run itself says what differs.
        if stored == checksum or _cache.manifest_of(name) is None:
            bring_version(store, name, stored)


def bring_version(store: Store, name: str, checksum: str) -> None:
    draft = _cache.folder_of(f".{name}.{uuid4().hex}.part")
    try:
        store.fetch(f"datasets/{name}/{checksum}", draft)
        _cache.adopt(name, draft, checksum)
    except _cache.CacheDamageError as error:
        raise StoreError(f"The data set {name} in the store {store.label} is not what it says: {error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """The workers of a machine share a home: one brings a data set, the others wait for it."""
    folder = _cache.folder_of("")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
