"""What makes two runs the same."""

from __future__ import annotations

from typing import Any

import pytest

from workers.catalog import load_catalog
from workers.spec import RunSpec, canonical_hash, cell_hash, flatten, identity, parse_run, varying_paths

BASE: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedprox", "mu": 0.1},
}


SGD = {"name": "sgd", "lr": 0.01, "momentum": 0.9}
FIRST_WAVE: dict[str, dict[str, Any]] = {
    "db0687d2d574514aeff9374aa0a6d95471fba48ab8567c19b5fa37541d839b7b": {
        "dataset": {"name": "mnist", "samples": 1000},
        "model": {"name": "lenet"},
        "strategy": {"name": "centralised"},
        "clients": 15,
        "rounds": 5,
        "local": {"batch_size": 10, "optimizer": {"name": "sgd", "lr": 0.05, "weight_decay": 1e-05}},
    },
    "ebde0e7760b389231c1530bdf844fa07587537e900cc1155d80fb1694acb759a": {
        "dataset": {"name": "mnist", "samples": 1000},
        "model": {"name": "mlp-50"},
        "strategy": {"name": "fednova"},
        "feature_noise": 0.1,
        "rounds": 10,
        "local": {"epochs": 10, "batch_size": 64, "optimizer": SGD},
    },
    "b80f6decee46ee29b4b6324220d1950d51162dc78dd20520343104cd62b58a48": {
        "dataset": {"name": "cifar10", "samples": 2000},
        "model": {"name": "mlp-50"},
        "strategy": {"name": "fedavg"},
        "partition": {"name": "label-dirichlet"},
        "cohort": 5,
        "rounds": 50,
        "local": {"epochs": 3, "batch_size": 128, "optimizer": {"name": "adam"}},
        "evaluation": {"on": "clients", "every": 5, "validation": 0.1},
    },
    "256c20e297a5520cb49bce4f3085f710b479d12f2ff1b852377e084074652177": {
        "dataset": {"name": "femnist", "subset": "digits"},
        "model": {"name": "mlp-50", "activation": "leaky"},
        "strategy": {"name": "simfedswap", "h1": 5, "h2": 3, "pairing": "minimum", "similarity": "cka-linear"},
        "partition": {"name": "natural"},
        "clients": 20,
        "fraction": 0.5,
        "rounds": 46,
        "local": {"epochs": 5, "batch_size": 64, "optimizer": {"name": "adam"}},
        "seed": 2,
    },
    "072fb7832230193eb1498bd7aa7930f3790413765a4d680960baa9debda11951": {
        "dataset": {"name": "femnist", "normalise": "iaisy-2024"},
        "model": {"name": "cnn-32-64-512"},
        "strategy": {"name": "fedavg"},
        "partition": {"name": "natural"},
        "clients": 100,
        "hybrid": {"method": "unify", "ratio": 1.0},
        "local": {"epochs": 6, "optimizer": {"name": "adamw", "lr": 0.01, "weight_decay": 0.01}},
        "seed": 19,
    },
}
"""Runs of the published presets by the hash that the first version gave them, with none of the data here."""


def hash_of(**changes: Any) -> str:
    return canonical_hash(parse_run(BASE | changes))


def test_the_hash_is_hex_sha256() -> None:
    assert len(hash_of()) == 64
    assert set(hash_of()) <= set("0123456789abcdef")


def test_defaults_and_number_types_do_not_matter() -> None:
    assert hash_of() == hash_of(rounds=20, fraction=1, engine="auto")
    assert hash_of(strategy={"name": "fedprox", "mu": 1}) == hash_of(strategy={"name": "fedprox", "mu": 1.0})


def test_whatever_can_change_a_number_matters() -> None:
    hashes = {
        hash_of(),
        hash_of(seed=1),
        hash_of(rounds=21),
        hash_of(strategy={"name": "fedprox", "mu": 0.2}),
        hash_of(strategy={"name": "fedavg"}),
        hash_of(precision="float64"),
        hash_of(engine="sequential"),
        hash_of(engine="cohort"),
    }
    assert len(hashes) == 8


def test_a_cell_is_its_runs_without_the_seed() -> None:
    first, second = parse_run(BASE), parse_run(BASE | {"seed": 5})
    assert cell_hash(first) == cell_hash(second)
    assert cell_hash(first) != cell_hash(parse_run(BASE | {"rounds": 3}))


def test_a_flat_spec_names_components_at_their_own_path() -> None:
    flat = flatten({"strategy": {"name": "fedprox", "mu": 0.1}, "local": {"optimizer": {"name": "sgd", "lr": 0.01}}})
    assert flat == {"strategy": "fedprox", "strategy.mu": 0.1, "local.optimizer": "sgd", "local.optimizer.lr": 0.01}


def test_varying_paths_leave_out_the_seed_and_what_is_the_same() -> None:
    specs = [
        {"strategy": {"name": "fedavg"}, "rounds": 5, "seed": 0},
        {"strategy": {"name": "fedprox", "mu": 0.1}, "rounds": 5, "seed": 1},
    ]
    assert varying_paths(specs) == ["strategy", "strategy.mu"]


def test_a_validation_part_that_a_strategy_needs_is_the_same_given_or_not() -> None:
    """Their numbers are the same, so they are one run; the published studies with FedLoss give it."""
    fedloss = {"name": "fedloss"}
    assert hash_of(strategy=fedloss) == hash_of(strategy=fedloss, evaluation={"validation": 0.1})
    assert hash_of(strategy=fedloss) != hash_of(strategy=fedloss, evaluation={"validation": 0.2})


@pytest.mark.parametrize(("expected", "run"), FIRST_WAVE.items(), ids=[each[:8] for each in FIRST_WAVE])
def test_runs_of_the_first_wave_keep_their_identity(
    expected: str, run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "ENGINE_VERSION", 1)
    assert canonical_hash(parse_run(run)) == expected


def test_an_engine_whose_numbers_changed_computes_other_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "ENGINE_VERSION", 1)
    first = hash_of()
    monkeypatch.setattr(identity, "ENGINE_VERSION", 2)
    assert len({first, hash_of(), hash_of(seed=1)}) == 3


class LaterSpec(RunSpec):
    """A spec of a later version."""

    drift: float = 0.0


def test_a_field_that_came_later_counts_once_it_is_used() -> None:
    spec = parse_run(BASE).model_dump(mode="json")
    assert canonical_hash(LaterSpec.model_validate(spec)) == canonical_hash(
        LaterSpec.model_validate(spec | {"drift": 0})
    )
    assert canonical_hash(LaterSpec.model_validate(spec)) == hash_of()
    assert canonical_hash(LaterSpec.model_validate(spec | {"drift": 0.5})) != hash_of()


def test_a_parameter_that_came_later_counts_once_it_is_used() -> None:
    class LaterParams(load_catalog().strategies["fedprox"].Params):  # type: ignore[name-defined,misc]
        decay: float = 1.0

    def hashed(**params: Any) -> dict[str, Any]:
        part = LaterParams(**params)
        return identity.hashed_fields(part, part.model_dump(mode="json"), "strategy", set())

    assert hashed(mu=0.2) == {"name": "fedprox", "mu": 0.2}
    assert hashed(mu=0.2, decay=0.5) == {"name": "fedprox", "mu": 0.2, "decay": 0.5}


def test_every_first_wave_field_is_in_the_hash_whatever_its_value() -> None:
    fields = identity.identity_fields(parse_run(BASE))
    assert fields["privacy"] is None
    assert fields["strategy"] == {"name": "fedprox", "mu": 0.1}
    assert fields["evaluation"] == {"on": "server", "every": 1, "clients": "all", "held_out": 0.2, "validation": 0.0}
    assert "engine" not in fields
