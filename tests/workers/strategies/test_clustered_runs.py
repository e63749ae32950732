"""What holds for every strategy that groups its clients, where there are several groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workers.engine.test_resume import bits, stop_and_resume
from tests.workers.engine.test_resume import curve as whole_curve
from tests.workers.engine.tiny import distance, tiny, untimed
from tests.workers.strategies.groups_by_loop import spec_of
from workers.engine import simulate
from workers.errors import SpecError
from workers.spec import parse_run

CLUSTERED = {"name": "clustered-fedavg"}
ATHENA = {"name": "athena", "tolerance": 0.05}
FROZEN = {**ATHENA, "freeze": True}


@pytest.mark.parametrize("strategy", [CLUSTERED, ATHENA], ids=lambda strategy: strategy["name"])
def test_stacks_and_single_clients_end_the_same(strategy: dict[str, Any]) -> None:
    local = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.1}}
    partition = {"name": "classes-per-client", "k": 2}
    faults = {"stragglers": 0.5, "client_dropout": 0.2}
    spec = spec_of(strategy, local=local, partition=partition, clients=6, cohort=4, **faults)
    stacked, alone = simulate(spec), simulate({**spec, "engine": "sequential"})

    assert len(stacked.findings[strategy["name"]]["groups"]) == 2
    assert distance(stacked, alone) < 1e-12
    for one, other in zip(untimed(stacked), untimed(alone), strict=True):
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize(
    ("strategy", "steps"),
    [(CLUSTERED, 0), (CLUSTERED, 7), (CLUSTERED, 14), (ATHENA, 2), (ATHENA, 9), (FROZEN, 9), (ATHENA, 14)],
)
def test_a_run_stopped_anywhere_goes_on_to_the_same_end_and_findings(
    strategy: dict[str, Any], steps: int, tmp_path: Path
) -> None:
    """The probe has four steps, and so has each round. Detectors converge in the second: that is seen across a stop."""
    spec = spec_of(strategy, precision="float32", rounds=4)
    expected = simulate(spec, device="cpu")

    _, result = stop_and_resume(spec, tmp_path, steps)

    assert whole_curve(result.history) == whole_curve(expected.history)
    assert bits(result) == bits(expected)
    assert result.findings == expected.findings


def test_somebody_must_be_early() -> None:
    with pytest.raises(SpecError, match="one at least must be early"):
        parse_run(tiny(strategy={**CLUSTERED, "late_clients": 5}))


@pytest.mark.parametrize("eps", [-1.0, 0, "far", None])
def test_a_wrong_eps_is_one_problem_that_says_what_is_right(eps: object) -> None:
    with pytest.raises(SpecError, match=r"strategy.eps: Input should be a number above 0, or auto") as refused:
        parse_run(tiny(strategy={**CLUSTERED, "eps": eps}))

    assert len(refused.value.errors) == 1
