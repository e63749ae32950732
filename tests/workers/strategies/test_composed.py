"""`strategy: {name: composed}`: named strategies are triples of it, and any triple keeps what every strategy keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from tests.workers.engine.test_resume import bits
from tests.workers.engine.tiny import tiny, untimed
from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.test_clients_by_loop import LR, ROUNDS, STEPS, Reference, assert_equal_models, spec_of
from workers.catalog.part import Part
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.errors import SpecError
from workers.spec import canonical_hash, parse_run
from workers.strategies.parts.aggregate import AGGREGATIONS
from workers.strategies.parts.client import CLIENT_RULES
from workers.strategies.parts.server import SERVER_PARTS

COMPOSITIONS = 40


def composed(client: Any = "plain", aggregate: Any = "mean", server: Any = "none") -> dict[str, Any]:
    parts = {"client": client, "aggregate": aggregate, "server": server}
    return {"name": "composed", **{k: {"name": v} if isinstance(v, str) else v for k, v in parts.items()}}


NAMED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "fedavg"}, composed()),
    ({"name": "fedprox", "mu": 0.4}, composed({"name": "fedprox", "mu": 0.4})),
    ({"name": "fedlc", "tau": 0.5}, composed({"name": "fedlc", "tau": 0.5})),
    ({"name": "moon", "mu": 3.0}, composed({"name": "moon", "mu": 3.0})),
    ({"name": "fedsgd"}, composed("fedsgd")),
    ({"name": "scaffold", "option": 1}, composed({"name": "scaffold", "option": 1})),
    ({"name": "fedloss"}, composed(aggregate="by-loss")),
    ({"name": "qfedavg", "q": 1.5}, composed(aggregate={"name": "fair", "q": 1.5})),
    ({"name": "fednova", "mu": 0.2}, composed({"name": "fedprox", "mu": 0.2}, "by-steps")),
    ({"name": "fedmedian"}, composed(aggregate="median")),
    ({"name": "fedtrimmedavg", "trim": 0.4}, composed(aggregate={"name": "trimmed", "trim": 0.4})),
    ({"name": "krum"}, composed(aggregate="krum")),
    ({"name": "multikrum", "keep": 2}, composed(aggregate={"name": "multikrum", "keep": 2})),
    ({"name": "rfa", "iterations": 5}, composed(aggregate={"name": "geometric-median", "iterations": 5})),
    ({"name": "bulyan"}, composed(aggregate="bulyan")),
    ({"name": "feddyn"}, composed("feddyn", "uniform")),
    ({"name": "fedexp"}, composed(aggregate="uniform", server="extrapolation")),
    ({"name": "fedavgm", "nesterov": True}, composed(server={"name": "momentum", "nesterov": True})),
    ({"name": "fedadam", "server_lr": 0.02}, composed(server={"name": "adam", "lr": 0.02})),
    ({"name": "fedyogi"}, composed(server="yogi")),
    ({"name": "fedadagrad"}, composed(server="adagrad")),
]


@pytest.mark.parametrize(("named", "triple"), NAMED, ids=[named["name"] for named, _ in NAMED])
def test_a_named_strategy_is_its_triple_to_the_bit(named: dict[str, Any], triple: dict[str, Any]) -> None:
    one, other = simulate(tiny(strategy=named)), simulate(tiny(strategy=triple))

    assert bits(one) == bits(other)
    assert untimed(one) == untimed(other)


OPTIONS: dict[str, list[Any]] = {
    "attack": [
        {"name": name, "share": 0.4} for name in ("label-flip", "sign-flip", "gaussian", "scaling", "alie", "ipm")
    ],
    "privacy": [{"name": "central", "noise": 0.5, "delta": 1e-3, "adaptive": True}, {"name": "local", "epsilon": 9.0}],
    "compression": [
        {"name": name, "feedback": feedback, "direction": direction}
        for name in ("top-k", "random-k", "quantise", "sign")
        for feedback, direction in ((True, "both"), (False, "up"))
    ],
    "selection": [{"name": "by-size"}, {"name": "round-robin"}, {"name": "power-of-choice", "candidates": 4}],
    "server_schedule": [{"name": "cosine", "warmup": 2}, {"name": "step", "every": 2}],
    "client_dropout": [0.3],
}
"""What a composition may have besides, each in every third one."""
LOCAL: dict[str, list[Any]] = {
    "clip_norm": [0.5],
    "label_smoothing": [0.1],
    "schedule": [{"name": "exponential", "gamma": 0.5}],
    "steps": [3],
}


def random_composition(rng: Random) -> dict[str, Any]:
    """Clients of unequal size, some of which straggle. It may be one that is refused."""

    def name_of(parts: Sequence[type[Part]]) -> str:
        name: str = rng.choice(parts).model_fields["name"].default
        return name

    def some_of(options: dict[str, list[Any]]) -> dict[str, Any]:
        return {name: rng.choice(values) for name, values in options.items() if rng.random() < 1 / 3}

    options = some_of(OPTIONS)
    private = "privacy" in options  # hardly anything else would go with it
    norm = "none" if private else rng.choice(["none", "batch"])
    optimizer = {"name": "sgd", "lr": 0.05, "momentum": rng.choice([0.0, 0.9])}
    return tiny(
        strategy=composed(
            name_of(CLIENT_RULES), "uniform" if private else name_of(AGGREGATIONS), name_of(SERVER_PARTS)
        ),
        model={"name": "mlp-50", "norm": norm},
        local={"epochs": 1, "batch_size": 6, "optimizer": optimizer, **some_of(LOCAL)},
        stragglers=0.4,
        rounds=5,
        **options,
    )


@settings(max_examples=COMPOSITIONS, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=True))
def test_any_composition_agrees_between_engines_and_goes_on_to_the_bit(rng: Random) -> None:
    spec = random_composition(rng)
    try:
        parse_run(spec)
    except SpecError:
        assume(False)
    note(spec)

    check_engines(spec)
    check_resume(spec)


def test_the_servers_step_goes_towards_the_aggregate() -> None:
    """The median of 1, 2 and 9 is 2, so delta = 2 from w = 0: m = 0.1 * 2, v = 0.99 * 1e-6 + 0.01 * 4."""
    server = Server(composed(aggregate="median", server={"name": "adam", "lr": 0.5}), tensors(w=[0.0]))

    result = server.round(answer(1, [1.0]), answer(1, [2.0]), answer(50, [9.0]))

    assert result["w"] == pytest.approx([0.5 * 0.2 / (math.sqrt(0.99e-6 + 0.04) + 1e-3)], abs=1e-15)


def test_fedprox_under_momentum_equals_plain_loops() -> None:
    """FedProx' clients with FedAvgM's server, which no named strategy has."""
    spec = spec_of(composed({"name": "fedprox", "mu": 0.7}, server={"name": "momentum", "momentum": 0.5, "lr": 0.8}))
    reference = Reference(spec)
    velocity = [0.0 * value for value in reference.model]
    for _ in range(ROUNDS):
        models = []
        for client in range(5):
            own = [value.copy() for value in reference.model]
            for _ in range(STEPS):
                grads = reference.gradient(client, own)
                own = [v - LR * (g + 0.7 * (v - a)) for v, g, a in zip(own, grads, reference.model, strict=True)]
            models.append(own)
        mean = reference.mean(models)
        velocity = [0.5 * v + (w - m) for v, w, m in zip(velocity, reference.model, mean, strict=True)]
        reference.model = [w - 0.8 * v for w, v in zip(reference.model, velocity, strict=True)]

    assert_equal_models(simulate(spec), reference)


@pytest.mark.parametrize(
    ("strategy", "optimizer", "path", "words"),
    [
        (composed("scaffold"), {"name": "adam"}, "local.optimizer", "SCAFFOLD divides"),
        (composed(aggregate="by-steps"), {"name": "adam"}, "local.optimizer", "Mean by steps divides"),
        (
            composed({"name": "fedprox", "mu": 0.1}, "by-steps"),
            {"name": "sgd", "momentum": 0.9},
            "strategy.client.mu",
            "known without momentum only",
        ),
        (
            composed(aggregate={"name": "krum", "malicious": 1}),
            {"name": "sgd"},
            "strategy.aggregate.malicious",
            "needs 5 or more; it has 3",
        ),
        (
            composed("fedadam"),
            {"name": "sgd"},
            "strategy.client",
            "Unknown name: fedadam. Choose one of plain, fedprox",
        ),
        (
            composed({"name": "fedprox", "nu": 1.0}),
            {"name": "sgd"},
            "strategy.client.nu",
            "Choose one of name, mu.",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(
    strategy: dict[str, Any], optimizer: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_run(tiny(strategy=strategy, local={"optimizer": optimizer}))

    (problem,) = refusal.value.errors
    assert problem.path == path
    assert words in problem.message


def test_a_part_at_its_default_is_the_same_run_named_or_not() -> None:
    hashes = {
        canonical_hash(parse_run(tiny(strategy=strategy)))
        for strategy in ({"name": "composed"}, composed(), composed(server={"name": "none"}))
    }
    others = {
        canonical_hash(parse_run(tiny(strategy=strategy)))
        for strategy in (composed("fedprox"), composed({"name": "fedprox", "mu": 0.2}), composed(aggregate="median"))
    }
    assert len(hashes) == 1
    assert len(hashes | others) == 4


def test_by_loss_brings_its_validation_part_along() -> None:
    assert parse_run(tiny(strategy=composed(aggregate="by-loss"))).evaluation.validation == 0.1
    assert parse_run(tiny(strategy=composed())).evaluation.validation == 0.0
