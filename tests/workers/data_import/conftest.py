from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has an empty cache of its own."""
    home = tmp_path / "home"
    monkeypatch.setenv("TRIBUTARY_HOME", str(home))
    return home
