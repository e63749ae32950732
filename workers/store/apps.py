"""Versions of Flower apps in the store, by the hash of their content: a worker brings that of its run's launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workers.apps.library import library_folder, version_folder
from workers.apps.package import AppError, content_files, content_hash
from workers.store.store import NotStoredError, remote_store

HASH_LENGTH = 64


def app_publish(name: str, digest: str) -> bool:
    """False where the store has it, or is this home."""
    store, key = remote_store(), f"apps/{name}/{digest}"
    if store is None or store.has_bundle(key):
        return False
    folder = version_folder(name, digest)
    store.publish(key, {str(path.relative_to(folder)): path for path in content_files(folder)})
    return True


def is_app_here(name: str, digest: str) -> bool:
    return version_folder(name, digest).is_dir()


def app_bring(name: str, digest: str) -> None:
    """Into this home, unless it is there; an `AppError` where its content has another hash."""
    store, target = remote_store(), version_folder(name, digest)
    if store is None or is_app_here(name, digest):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        store.fetch(f"apps/{name}/{digest}", target)
    except NotStoredError:
        raise AppError(
            f"The version {digest[:12]} of {name} is neither on this machine nor in the store {store.label}: run "
            "`manage.py store push` on the machine that has it, then retry."
        ) from None
    if content_hash(target) != digest:
        raise AppError(f"The files of {name} {digest[:12]} in the store {store.label} were changed: launch it again.")


def kept_versions() -> Iterator[tuple[str, str]]:
    """By name and hash, those of this home."""
    for folder in sorted(Path(library_folder()).glob("*/*")):
        if folder.is_dir() and len(folder.name) == HASH_LENGTH:
            yield folder.parent.name, folder.name
