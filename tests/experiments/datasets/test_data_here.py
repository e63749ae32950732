"""Launching needs data, planning does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.models import Study, User
from experiments.studies.services.launch import study_launch, study_plan
from tests.experiments.originals import write_mnist
from workers.catalog import load_catalog
from workers.datasets._imported import ImportedDataset
from workers.errors import SpecError

BLOCKS: list[dict[str, Any]] = [
    {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}},
    {"dataset": [{"name": ["mnist", "svhn"]}], "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}},
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))


def test_a_launch_without_its_data_is_refused_with_what_to_do(owner: User) -> None:
    with pytest.raises(SpecError) as refused:
        study_launch(owner=owner, name="Not here", blocks=BLOCKS)
    assert [(each.path, each.message) for each in refused.value.errors] == [
        ("blocks.1.dataset", "mnist is not here yet: fetch or import it on the Data sets page."),
        ("blocks.1.dataset", "svhn is not here yet: fetch or import it on the Data sets page."),
    ]
    assert not Study.objects.exists()


def test_planning_it_is_possible(owner: User) -> None:
    assert study_plan(owner=owner, blocks=BLOCKS).runs == 3


def test_what_is_here_can_be_launched(owner: User, tmp_path: Path) -> None:
    mnist = load_catalog().datasets["mnist"]
    assert isinstance(mnist, ImportedDataset)
    mnist.import_from(write_mnist(tmp_path / "mnist"))
    blocks = [{**BLOCKS[1], "dataset": {"name": "mnist"}}]
    assert study_launch(owner=owner, name="Here", blocks=blocks).runs.count() == 1
