"""What makes two runs the same."""

from __future__ import annotations

from typing import Any

from workers.spec import canonical_hash, cell_hash, flatten, parse_run, varying_paths

BASE: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedprox", "mu": 0.1},
}


def hash_of(**changes: Any) -> str:
    return canonical_hash(parse_run(BASE | changes))


def test_the_hash_is_hex_sha256() -> None:
    assert len(hash_of()) == 64
    assert set(hash_of()) <= set("0123456789abcdef")


def test_defaults_number_types_and_engine_do_not_matter() -> None:
    assert hash_of() == hash_of(rounds=20, fraction=1, engine="sequential")
    assert hash_of(strategy={"name": "fedprox", "mu": 1}) == hash_of(strategy={"name": "fedprox", "mu": 1.0})


def test_whatever_can_change_a_number_matters() -> None:
    hashes = {
        hash_of(),
        hash_of(seed=1),
        hash_of(rounds=21),
        hash_of(strategy={"name": "fedprox", "mu": 0.2}),
        hash_of(strategy={"name": "fedavg"}),
        hash_of(precision="float64"),
    }
    assert len(hashes) == 6


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
