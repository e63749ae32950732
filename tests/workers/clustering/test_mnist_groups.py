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


def found_groups(partition: dict[str, Any], clients: int, samples: int) -> list[list[int]]:
    """The study's own setting: one epoch of its detector with Adam as probe, its radius on the output biases.

    Clients are fewer than in the study, each with as many samples: these decide how far probes part.
    """
    spec = {
        "dataset": {"name": "mnist", "side": 32, "samples": samples * clients},
        "model": {"name": "athena-detector"},
        "strategy": {"name": "athena", "compare": "output-biases", "eps": 0.0279},
        "partition": partition,
        "clients": clients,
        "local": {"batch_size": 15, "optimizer": {"name": "adam", "lr": 0.001}},
    }
    setup = make_setup(parse_run(spec), torch.device("cpu"))
    assert setup.method.survey is not None
    run_survey(setup.method.survey, setup, "cohort")
    findings = setup.method.server.findings  # type: ignore[attr-defined]
    assert findings["purity"] == 1
    return [group["members"] for group in findings["groups"]]


def test_mnist_falls_into_the_studys_groups(real: Callable[[str], Path]) -> None:
    """60,000 samples are 600 for each of its 100 clients with two classes."""
    load_catalog().datasets["mnist"].import_from(real("mnist"))  # type: ignore[attr-defined]

    assert found_groups({"name": "iid"}, 3, 600) == [[0, 1, 2]]
    assert found_groups({"name": "classes-per-client", "k": 2}, 10, 600) == [
        [first, first + 1] for first in (0, 2, 4, 6, 8)
    ]
