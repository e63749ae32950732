from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workers.store.copies import bundle_files, cache_folder, cached_file
from workers.store.store import NotStoredError, Store

KEY = "runs/7/artifacts/token"


def publish(store: Store, folder: Path, key: str, size: int) -> None:
    (folder / "model").write_bytes(bytes(size))
    store.publish(key, {"model": folder / "model"})


def test_a_copy_is_made_once_and_read_from_then_on(store: Store, tmp_path: Path) -> None:
    publish(store, tmp_path, KEY, 10)
    assert bundle_files(KEY) == {"model": 10}
    first = cached_file(KEY, "model")
    assert first.read_bytes() == bytes(10)
    store.remove(KEY)
    assert cached_file(KEY, "model") == first


def test_what_the_store_has_not_is_not_there(store: Store) -> None:
    with pytest.raises(NotStoredError):
        bundle_files(KEY)
    with pytest.raises(NotStoredError):
        cached_file(KEY, "model")


def test_those_read_longest_ago_make_room(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_STORE_CACHE", "1")
    for number in range(3):
        publish(store, tmp_path, f"runs/{number}/artifacts/token", 400_000)
    old = [cached_file(f"runs/{number}/artifacts/token", "model") for number in range(2)]
    os.utime(old[0], (2, 2))
    os.utime(old[1], (1, 1))
    newest = cached_file("runs/2/artifacts/token", "model")
    assert [path.exists() for path in (*old, newest)] == [True, False, True]


def test_another_machine_has_copies_of_its_own(store: Store, tmp_path: Path, machine: Callable[[str], Path]) -> None:
    publish(store, tmp_path, KEY, 10)
    cached_file(KEY, "model")
    machine("second")
    assert not cache_folder().exists()
    assert cached_file(KEY, "model") == tmp_path / "second" / "cache" / "store" / KEY / "model"
