"""Copies of the store's files on this machine: made and checked when somebody reads one, given up for want of room."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from workers.home import home
from workers.store.store import Bundle, Store, remote_store

DEFAULT_CACHE_MB = 20_000
logger = logging.getLogger(__name__)


def cache_folder() -> Path:
    return home() / "cache" / "store"


def bundle_files(key: str) -> dict[str, int]:
    """What the store has under that key, by name the size; raises `NotStoredError` where there is nothing."""
    store = remote_store()
    return {name: facts.bytes for name, facts in known_bundle(store, key).files.items()} if store else {}


@lru_cache(maxsize=256)
def known_bundle(store: Store, key: str) -> Bundle:
    """What is under a key with an attempt's token or a checksum never changes."""
    return store.bundle(key)


def cached_file(key: str, name: str) -> Path:
    """A file of a bundle as a file of this machine: a copy whose checksum held when it was made."""
    path = cache_folder() / key / name
    if path.is_file():
        os.utime(path)
        return path
    store = remote_store()
    if store is None:
        raise FileNotFoundError(path)
    facts = known_bundle(store, key).files.get(name)
    if facts is None:
        raise FileNotFoundError(path)
    draft = path.with_name(f".{uuid4().hex}.part")
    try:
        store.download(f"{key}/{name}", draft, facts)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    make_room(keep=path)
    return path


def make_room(*, keep: Path) -> None:
    """The copies that were read longest ago go first; who reads one at this moment keeps it open."""
    most = int(os.environ.get("TRIBUTARY_STORE_CACHE") or DEFAULT_CACHE_MB) * 1_000_000
    copies: list[tuple[float, int, Path]] = []
    for path in cache_folder().rglob("*"):
        with suppress(OSError):
            facts = path.stat()
            if path.is_file() and path != keep and not is_being_written(path, facts.st_mtime):
                copies.append((facts.st_mtime, facts.st_size, path))
    total = sum(size for _, size, _ in copies) + keep.stat().st_size
    for _, size, path in sorted(copies):
        if total <= most:
            return
        path.unlink(missing_ok=True)
        total -= size


def is_being_written(path: Path, changed: float) -> bool:
    return path.suffix == ".part" and time.time() - changed < 3600
