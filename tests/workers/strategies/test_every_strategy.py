"""What holds for every strategy of the catalog, as it comes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.workers.engine.test_resume import bits, stop_and_resume
from tests.workers.engine.test_resume import curve as whole_curve
from tests.workers.engine.tiny import curve, tiny
from workers.catalog import load_catalog
from workers.engine import simulate

MODEL = 15 * 8
MODELS_SENT = {
    "athena": 2,
    "centralised": 0,
    "fedper": 0,
    "fedrep": 0,
    "local-only": 0,
    "scaffold": 2,
    "last-client": 0,
}
"""In the first round, by each client; one unless it is named here. ATHENA's three detectors have 10 values each."""

every_strategy = pytest.mark.parametrize("name", load_catalog().strategies)


@every_strategy
def test_two_seeded_runs_are_equal_and_another_seed_is_not(name: str) -> None:
    first, again, other = (simulate(tiny(strategy={"name": name}, seed=seed), device="cpu") for seed in (7, 7, 8))

    assert bits(first) == bits(again)
    assert whole_curve(first.history) == whole_curve(again.history)
    assert whole_curve(first.history) != whole_curve(other.history)


@every_strategy
def test_a_run_that_was_stopped_goes_on_to_the_same_end(name: str, tmp_path: Path) -> None:
    """Six steps a round (thirty for all data in one place): the stop comes in round seven, or two."""
    local = {"epochs": 1, "batch_size": 2, "optimizer": {"name": "sgd", "lr": 0.1}}
    spec = tiny(strategy={"name": name}, rounds=8, precision="float32", partition={"name": "iid"}, local=local)
    expected = simulate(spec, device="cpu")

    seen, result = stop_and_resume(spec, tmp_path, steps=40)

    assert [record.round for record in seen] == list(range(9))
    assert whole_curve(result.history) == whole_curve(expected.history)
    assert bits(result) == bits(expected)


@every_strategy
def test_a_diverged_run_is_a_result(name: str) -> None:
    local = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 1e200}}

    result = simulate(tiny(strategy={"name": name}, local=local, model={"name": "mlp-50"}))

    assert [record.round for record in result.history] == [0, 1, 2, 3]
    assert not np.isfinite(curve(result, "loss")[-1])


@every_strategy
def test_every_model_that_is_sent_is_counted(name: str) -> None:
    """Values beyond the models are a few scalars: less than one model in all."""
    sent = curve(simulate(tiny(strategy={"name": name})), "bytes_up")[1]

    assert sent // (3 * MODEL) == MODELS_SENT.get(name, 1)
