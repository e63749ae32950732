"""A model of a lab's own that does not say how many parameters it has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.catalog.plugins.examples import write
from workers.catalog import load_catalog
from workers.catalog.component import Model
from workers.catalog.plugins import plugin_components
from workers.home import ROOT
from workers.models._counting import counts_itself

MODEL = """
from workers.plugin import Model, Parameters, elements

class Units(Parameters):
    units: int = 16

class Plain(Model):
    '''One hidden layer.'''
    name, label, Params = "plain", "Plain", Units

    def refusal(self, shape, classes, params):
        return None

    def build(self, shape, classes, params):
        from torch import nn

        assert params.units > 0, "no units"
        return nn.Sequential(nn.Flatten(), nn.Linear(elements(shape), params.units), nn.Linear(params.units, classes))
"""
SCRIPT = """
import json, sys
from workers.catalog import load_catalog
model = load_catalog().models["plain"]
counts = [model.parameter_count((4,), 3) for _ in range(2)]
print(json.dumps([counts, "torch" in sys.modules]))
"""


def test_it_is_counted_without_torch_in_this_process_and_remembered(tmp_path: Path) -> None:
    """(4 + 1) 16 + (16 + 1) 3 = 131."""
    write(tmp_path, "models/plain.py", MODEL)
    environment = {
        **os.environ,
        "TRIBUTARY_PLUGINS": str(tmp_path),
        "TRIBUTARY_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
    }
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )

    assert json.loads(process.stdout) == [[131, 131], False]
    kept = [file.read_text() for file in (tmp_path / "home" / "model-sizes").iterdir()]
    assert kept == ["131"]


def test_a_process_that_has_torch_counts_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(6 + 1) 5 + (5 + 1) 2 = 47. What cannot be built counts 0."""
    import torch

    write(tmp_path, "models/plain.py", MODEL)
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path))
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    (model,), problems = plugin_components(load_catalog().components)
    before = torch.random.get_rng_state()

    assert problems == []
    assert isinstance(model, Model)
    assert model.parameter_count((1, 2, 3), 2, model.Params(units=5)) == 47  # type: ignore[call-arg]
    assert model.parameter_count((4,), 3, model.Params(units=-1)) == 0  # type: ignore[call-arg]
    assert torch.equal(before, torch.random.get_rng_state())


def test_every_built_in_model_says_it_itself() -> None:
    assert [model.name for model in load_catalog().models.values() if not counts_itself(model)] == []
