"""The study's three scenarios on the real digits; skipped where they are not beside the repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from workers.catalog import load_catalog
from workers.engine.server.survey import run_survey
from workers.engine.setup import make_setup
from workers.spec import parse_run


def found_groups(partition: dict[str, Any], clients: int) -> list[list[int]]:
    """One epoch of logistic regression as probe tells the scenarios apart by a factor of ten."""
    spec = {
        "dataset": {"name": "mnist"},
        "model": {"name": "logistic"},
        "strategy": {"name": "athena", "probe_epochs": 1},
        "partition": partition,
        "clients": clients,
    }
    setup = make_setup(parse_run(spec), torch.device("cpu"))
    assert setup.method.survey is not None
    run_survey(setup.method.survey, setup, "cohort")
    findings = setup.method.server.findings  # type: ignore[attr-defined]
    assert findings["purity"] == 1
    return [group["members"] for group in findings["groups"]]


def test_mnist_falls_into_the_studys_groups(real: Callable[[str], Path]) -> None:
    load_catalog().datasets["mnist"].import_from(real("mnist"))  # type: ignore[attr-defined]

    assert found_groups({"name": "iid"}, 20) == [list(range(20))]
    assert found_groups({"name": "classes-per-client", "k": 5}, 40) == [list(range(20)), list(range(20, 40))]
    assert found_groups({"name": "classes-per-client", "k": 2}, 100) == [
        list(range(first, first + 20)) for first in (0, 20, 40, 60, 80)
    ]
