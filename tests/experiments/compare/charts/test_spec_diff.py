from __future__ import annotations

from experiments.compare.views.page import SpecDiff, spec_diff


def test_it_lists_fields_that_differ_and_counts_the_rest() -> None:
    first = {
        "strategy": {"name": "fedavg"},
        "clients": 10,
        "rounds": 20,
        "local": {"optimizer": {"name": "sgd", "lr": 0.1}},
    }
    second = {
        "strategy": {"name": "fedprox", "mu": 0.1},
        "clients": None,
        "rounds": 20,
        "local": {"optimizer": {"name": "sgd", "lr": 0.1}},
    }
    assert spec_diff(first, second) == SpecDiff(
        (("strategy", "fedavg", "fedprox"), ("clients", "10", "none"), ("strategy.mu", "–", "0.1")), 3
    )


def test_equal_specs_do_not_differ() -> None:
    assert spec_diff({"clients": 10}, {"clients": 10}) == SpecDiff((), 1)
