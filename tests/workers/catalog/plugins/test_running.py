"""The documented components compute: from a spec file, without the platform."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workers.catalog.plugins.examples import write_documented

RUN: dict[str, Any] = {
    "dataset": {"name": "stripes"},
    "model": {"name": "mlp-16"},
    "partition": {"name": "dealt"},
    "clients": 6,
    "rounds": 3,
    "local": {"epochs": 2, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.3}},
    "engine": "cohort",
    "precision": "float64",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    components = tmp_path_factory.mktemp("components")
    write_documented(components)
    return components


def events(folder: Path, strategy: dict[str, Any]) -> list[dict[str, Any]]:
    spec = folder / "spec.yaml"
    spec.write_text(yaml.safe_dump({**RUN, "strategy": strategy}))
    finished = subprocess.run(
        [sys.executable, "-m", "workers.engine", str(spec), "--json", "--device", "cpu"],
        env={**os.environ, "TRIBUTARY_PLUGINS": str(folder), "TRIBUTARY_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return [json.loads(line) for line in finished.stdout.splitlines()]


def curve(records: list[dict[str, Any]], metric: str) -> list[float]:
    return [each["metrics"][metric] for each in records if each["event"] == "round" and metric in each["metrics"]]


def test_without_a_bound_it_is_fedavg_and_with_a_narrow_one_it_hardly_moves(folder: Path) -> None:
    plain = events(folder, {"name": "fedavg"})
    wide = events(folder, {"name": "fedclip", "bound": 1e9})
    narrow = events(folder, {"name": "fedclip", "bound": 1e-6})

    assert curve(wide, "loss") == pytest.approx(curve(plain, "loss"), abs=1e-12)
    assert curve(wide, "fedclip.clipped") == [0.0, 0.0, 0.0]
    assert curve(narrow, "fedclip.clipped") == [6.0, 6.0, 6.0]
    assert curve(narrow, "loss") == pytest.approx([curve(plain, "loss")[0]] * 4, abs=1e-5)
    assert curve(plain, "loss")[-1] < curve(plain, "loss")[0] - 0.1
