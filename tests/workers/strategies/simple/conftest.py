from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.strategies.simple.own import OwnStrategies


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnStrategies:
    return OwnStrategies(tmp_path, monkeypatch)
