from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from workers.store.store import Store, remote_store


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """From now on this process is on that machine: another home, and the same store as on the others."""

    def move_to(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        monkeypatch.setenv("TRIBUTARY_HOME", str(folder))
        return folder

    monkeypatch.setenv("TRIBUTARY_STORE", str(tmp_path / "store"))
    move_to("first")
    return move_to


@pytest.fixture
def store(machine: Callable[[str], Path]) -> Store:
    store = remote_store()
    assert store is not None
    store.create()
    return store
