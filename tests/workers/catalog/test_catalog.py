"""The catalog: what every component file must declare, whatever it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workers.catalog import load_catalog
from workers.catalog.component import Component

EVERY = list(load_catalog())


@pytest.mark.parametrize("component", EVERY, ids=lambda each: f"{each.kind}-{each.name}")
def test_a_component_is_described_and_its_defaults_are_valid(component: Component) -> None:
    assert component.label
    assert component.summary.endswith(".")
    assert component.version >= 1
    assert component.Params().name == component.name


@pytest.mark.parametrize("component", EVERY, ids=lambda each: f"{each.kind}-{each.name}")
def test_every_parameter_says_what_it_means(component: Component) -> None:
    fields = component.Params.model_fields
    assert [name for name, field in fields.items() if name != "name" and not field.description] == []


def test_the_description_has_a_schema_for_each_component() -> None:
    described = load_catalog().describe()
    assert list(described) == ["dataset", "model", "partition", "strategy", "optimizer"]
    (fedprox,) = [each for each in described["strategy"] if each["name"] == "fedprox"]
    assert fedprox["schema"]["properties"]["mu"] == {
        "default": 0.01,
        "description": "Weight of the proximal term.",
        "minimum": 0,
        "title": "Mu",
        "type": "number",
    }


def test_reading_the_catalog_imports_nothing_heavy() -> None:
    script = (
        "import sys; import workers.spec; "
        "print([name for name in ('torch', 'torchvision', 'flwr', 'ray', 'sklearn', 'django') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
