""" "Same but ..." in words."""

from __future__ import annotations

from typing import Any

from experiments.studies.editor.clone import Change, study_changes

BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}],
    "rounds": 20,
    "local": {"batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.01}},
    "seeds": 3,
}


def changes(**fields: Any) -> list[Change]:
    return study_changes({"blocks": [BLOCK]}, {"blocks": [{**BLOCK, **fields}]})


def test_nothing_differs_at_first() -> None:
    assert changes() == []
    assert changes(seeds=[0, 1, 2]) == []
    skew = {"partition": {"name": "label-dirichlet", "alpha": [0.1, 1.0]}}
    as_browsers_write = {"partition": {"name": "label-dirichlet", "alpha": [0.1, 1]}}
    assert study_changes({"blocks": [{**BLOCK, **skew}]}, {"blocks": [{**BLOCK, **as_browsers_write}]}) == []


def test_a_changed_value_and_its_path() -> None:
    assert changes(rounds=50) == [Change("blocks.0.rounds", "Rounds", ("20",), ("50",))]


def test_an_axis_tells_only_the_values_that_came_and_went() -> None:
    assert changes(strategy=[{"name": "fedavg"}, {"name": "scaffold"}, {"name": "fedprox", "mu": [1, 2]}]) == [
        Change("blocks.0.strategy", "Strategy", ("FedProx (μ = 0.1)",), ("SCAFFOLD", "FedProx (μ = 1, 2)"))
    ]
    assert changes(seeds=5) == [Change("blocks.0.seeds", "Seeds", (), ("3", "4"))]


def test_a_field_that_is_not_given_is_its_default() -> None:
    assert changes(clients=5) == [Change("blocks.0.clients", "Clients", ("10",), ("5",))]
    assert changes(clients=10, partition={"name": "iid"}, fraction=1) == []
    assert changes(hybrid={"method": ["share-disjoint", "unify"]}) == [
        Change("blocks.0.hybrid.method", "Hybrid method", (), ("unify",))
    ]
    without = {key: value for key, value in BLOCK.items() if key != "rounds"}
    assert study_changes({"blocks": [{**BLOCK, "rounds": 50}]}, {"blocks": [without]}) == [
        Change("blocks.0.rounds", "Rounds", ("50",), ("20",))
    ]


def test_fields_at_depth_have_their_own_line() -> None:
    local = {"batch_size": 64, "optimizer": {"name": "adam"}}
    assert changes(local=local) == [
        Change("blocks.0.local.batch_size", "Batch size", ("32",), ("64",)),
        Change("blocks.0.local.optimizer", "Optimizer", ("SGD (lr = 0.01)",), ("Adam",)),
    ]


def test_blocks_and_options_come_and_go() -> None:
    two = {"blocks": [BLOCK, {**BLOCK, "rounds": 1}], "shuffle": True}
    assert study_changes({"blocks": [BLOCK]}, two) == [
        Change("blocks.1", "Block 2", (), ("added",)),
        Change("shuffle", "Shuffle", ("no",), ("yes",)),
    ]
    assert study_changes(two, {"blocks": [{**BLOCK, "rounds": 3}], "shuffle": True}) == [
        Change("blocks.0.rounds", "Block 1: Rounds", ("20",), ("3",)),
        Change("blocks.1", "Block 2", ("removed",), ()),
    ]


def test_what_is_no_study_differs_in_nothing() -> None:
    assert study_changes({"blocks": None}, {"blocks": "x"}) == []
