from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

UNPACK = Path(__file__).resolve().parents[4] / "shared" / "data" / "unpack"


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has an empty cache of its own."""
    home = tmp_path / "home"
    monkeypatch.setenv("TRIBUTARY_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a real data set in its publisher's layout, unpacked once."""
    if not UNPACK.exists():
        pytest.skip("real data sets are not beside the repository (../shared/data)")
    target = tmp_path_factory.mktemp("real")

    def folder(name: str) -> Path:
        if not (target / name).exists():
            subprocess.run([sys.executable, str(UNPACK), str(target), name], check=True, capture_output=True)
        return target / name

    return folder
