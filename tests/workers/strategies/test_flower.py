"""Flower's own strategies, unchanged, in runs of ours: every one that Flower ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flwr.serverapp.strategy as flower
import numpy as np
import pytest

from tests.workers.engine.test_resume import bits, curve, stop_and_resume
from tests.workers.engine.tiny import curve as values_of
from tests.workers.engine.tiny import distance, tiny
from workers.engine import simulate
from workers.errors import SpecError
from workers.spec import parse_run

DIGITS: dict[str, Any] = {
    "dataset": {"name": "digits", "samples": 300},
    "model": {"name": "logistic"},
    "partition": {"name": "label-dirichlet", "alpha": 0.5, "min_size": 5},
    "clients": 6,
    "cohort": 4,
    "rounds": 4,
    "local": {"epochs": 1, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
    "engine": "cohort",
}
WRAPPED = {"class": "flwr.serverapp.strategy.FedAdam", "arguments": {"eta": 0.05}}
FIXED = {"noise_multiplier": 0.2, "clipping_norm": 0.5, "strategy": WRAPPED}
ADAPTIVE = {"noise_multiplier": 0.2, "strategy": WRAPPED}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "Bulyan": {},
    "DifferentialPrivacyClientSideAdaptiveClipping": ADAPTIVE,
    "DifferentialPrivacyClientSideFixedClipping": FIXED,
    "DifferentialPrivacyServerSideAdaptiveClipping": ADAPTIVE,
    "DifferentialPrivacyServerSideFixedClipping": {**FIXED, "num_sampled_clients": 4},
    "FedAdagrad": {"eta": 0.05},
    "FedAdam": {"eta": 0.05, "tau": 0.01},
    "FedAvg": {},
    "FedAvgM": {"server_momentum": 0.9},
    "FedMedian": {},
    "FedProx": {"proximal_mu": 0.5},
    "FedTrimmedAvg": {"beta": 0.25},
    "FedYogi": {"eta": 0.05},
    "Krum": {"num_malicious_nodes": 1},
    "MultiKrum": {"num_malicious_nodes": 1, "num_nodes_to_select": 2},
    "QFedAvg": {"q": 0.5},
}
NEEDS_TREES = ["FedXgbBagging", "FedXgbCyclic"]
NO_STRATEGIES = ["Result", "Strategy"]


def stock(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": "flower", "class": f"flwr.serverapp.strategy.{name}", "arguments": arguments}


def problems(strategy: dict[str, Any], **changes: Any) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as refusal:
        parse_run(tiny(strategy=strategy, **changes))
    return [(problem.path, problem.message) for problem in refusal.value.errors]


def test_every_strategy_that_flower_ships_is_run_here_or_refused_with_a_reason() -> None:
    assert sorted([*ARGUMENTS, *NEEDS_TREES, *NO_STRATEGIES]) == sorted(flower.__all__)
    for name in NEEDS_TREES:
        assert problems(stock(name)) == [
            (
                "strategy.class",
                f"{name} aggregates XGBoost's trees, as bytes, and clients here train networks made of arrays: take "
                "another strategy.",
            )
        ]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_run_that_was_stopped_ends_like_one_that_was_not_and_learns(name: str, tmp_path: Path) -> None:
    """Two or three steps a round: the stop comes in round three. What was computed twice was computed equally."""
    spec = DIGITS | {"strategy": stock(name, **ARGUMENTS[name])}
    whole = simulate(spec, device="cpu")

    records, resumed = stop_and_resume(spec, tmp_path, steps=5)

    assert [record.round for record in records] == [0, 1, 2, 3, 4]
    assert curve(resumed.history) == curve(whole.history)
    assert bits(resumed) == bits(whole)
    assert {array.dtype.name for array in whole.parameters.values()} == {"float32"}
    assert values_of(whole, "loss")[-1] < values_of(whole, "loss")[0]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_clients_that_fail_and_numbers_beyond_all_bounds_are_results(name: str) -> None:
    """Of three clients 2, 2, 2, 1 and all 3 fail."""
    arguments = {key: value for key, value in ARGUMENTS[name].items() if key != "num_sampled_clients"}
    strategy = stock(name, **{**arguments, **({"noise_multiplier": 0.05} if "noise_multiplier" in arguments else {})})
    far = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 1e200}}

    failing = simulate(tiny(strategy=strategy, client_dropout=0.7, rounds=5), device="cpu")
    diverged = simulate(tiny(strategy=strategy, local=far, model={"name": "mlp-50"}, rounds=2), device="cpu")

    assert values_of(failing, "failures") == [2, 2, 2, 1, 3]
    assert not np.isfinite(values_of(diverged, "loss")[-1])


@pytest.mark.parametrize("name", ["FedAvg", "FedAdam", "Krum", "DifferentialPrivacyClientSideFixedClipping"])
def test_a_cohort_of_one_trains(name: str) -> None:
    arguments = {key: value for key, value in ARGUMENTS[name].items() if key != "num_sampled_clients"}

    result = simulate(tiny(strategy=stock(name, **arguments), cohort=1, rounds=2), device="cpu")

    assert [len(record.cohort) for record in result.history] == [0, 1, 1]


def test_the_cohorts_are_those_of_every_other_strategy() -> None:
    ours = simulate(tiny(rounds=5), device="cpu")
    theirs = simulate(tiny(rounds=5, strategy=stock("FedAdam")), device="cpu")

    assert [record.cohort for record in theirs.history] == [record.cohort for record in ours.history]


def test_noise_and_clipping_are_what_the_formula_says_and_follow_the_seed() -> None:
    """A clipping norm of 1e-6 stops every client; what is left is noise of deviation 0.3 * 1e-6 / 3 clients."""
    noisy = stock(
        "DifferentialPrivacyServerSideFixedClipping",
        noise_multiplier=0.3,
        clipping_norm=1e-6,
        strategy={"class": "flwr.serverapp.strategy.FedAvg"},
    )
    silent = {**noisy, "arguments": {**noisy["arguments"], "noise_multiplier": 0}}
    still, *noises = (
        simulate(tiny(strategy=each, rounds=1, model={"name": "mlp-50"}, seed=seed), device="cpu")
        for each, seed in [(silent, 1), (noisy, 1), (noisy, 1), (noisy, 2)]
    )
    first, again, other = (np.concatenate([each.ravel() for each in run.parameters.values()]) for run in noises)
    noise = first - np.concatenate([each.ravel() for each in still.parameters.values()])

    assert noise.std() == pytest.approx(1e-7, rel=0.1)
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_flowers_proximal_term_is_that_of_fedprox() -> None:
    """To the last bit or one beside it: Flower averages with numpy, whose kernels follow the processor."""
    theirs = simulate(tiny(strategy=stock("FedProx", proximal_mu=2.0)), device="cpu")

    assert distance(theirs, simulate(tiny(strategy={"name": "fedprox", "mu": 2.0}), device="cpu")) < 1e-15
    assert distance(theirs, simulate(tiny(), device="cpu")) > 1e-3


@pytest.mark.parametrize("kind", ["Fixed", "Adaptive"])
def test_clipping_on_the_client_is_clipping_on_the_server(kind: str) -> None:
    """Flower's own modifier runs on every reply; what it adds to a reply counts as sent."""
    arguments = FIXED if kind == "Fixed" else ADAPTIVE
    spec = DIGITS | {"precision": "float64"}
    client = simulate(spec | {"strategy": stock(f"DifferentialPrivacyClientSide{kind}Clipping", **arguments)})
    server = simulate(spec | {"strategy": stock(f"DifferentialPrivacyServerSide{kind}Clipping", **arguments)})

    extra = client.history[1].metrics["bytes_up"] - server.history[1].metrics["bytes_up"]
    assert extra == (0 if kind == "Fixed" else 4 * 8)
    if kind == "Fixed":
        assert distance(client, server) < 1e-12


def test_batch_statistics_are_averaged_and_counts_stay_whole() -> None:
    """Flower's FedAdam would step along running variances; here they are means, as for every strategy."""
    model = {"name": "mlp-50", "norm": "batch"}
    ours = simulate(tiny(model=model, rounds=1), device="cpu")
    theirs = simulate(tiny(model=model, rounds=1, strategy=stock("FedAdam")), device="cpu")
    buffers = [name for name in ours.parameters if "running" in name or "num_batches" in name]

    assert buffers
    for name in buffers:
        assert theirs.parameters[name].tobytes() == ours.parameters[name].tobytes()
