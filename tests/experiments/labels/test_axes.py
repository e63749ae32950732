from __future__ import annotations

from typing import Any

import pytest

from experiments.labels.axes import axes_text, axis_values, drop_redundant_axes


def spec(strategy: dict[str, Any], partition: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"strategy": strategy, "partition": partition or {"name": "iid"}, "hybrid": {"ratio": 0.0}, **fields}


def test_a_component_and_its_parameters_are_one_axis() -> None:
    specs = {
        "a": spec({"name": "fedavg"}),
        "b": spec({"name": "fedprox", "mu": 0.01}),
        "c": spec({"name": "fedprox", "mu": 0.1}),
    }
    assert axis_values(specs) == {"strategy": {"a": "fedavg", "b": "fedprox · mu 0.01", "c": "fedprox · mu 0.1"}}


def test_parameters_at_their_default_are_not_told() -> None:
    partition = {"name": "label-dirichlet", "alpha": 0.1, "balanced": True, "min_size": 10}
    specs = {"a": spec({"name": "fedavg"}), "b": spec({"name": "fedavg"}, partition)}
    assert axis_values(specs) == {"partition": {"a": "iid", "b": "label-dirichlet · alpha 0.1"}}


def test_the_strategy_comes_first_and_plain_fields_are_named() -> None:
    specs = {
        "a": spec({"name": "fedavg"}, hybrid={"ratio": 0.0}, clients=5),
        "b": spec({"name": "fedprox", "mu": 0.01}, hybrid={"ratio": 0.2}, clients=None),
    }
    assert axis_values(specs) == {
        "strategy": {"a": "fedavg", "b": "fedprox"},
        "hybrid.ratio": {"a": "hybrid ratio 0", "b": "hybrid ratio 0.2"},
        "clients": {"a": "clients 5", "b": "clients none"},
    }


def test_a_strategy_of_flowers_goes_by_its_class_and_its_arguments() -> None:
    adam = {"name": "flower", "class": "flwr.serverapp.strategy.FedAdam"}
    specs = {
        "a": spec({**adam, "arguments": {"eta": 0.1, "beta_1": 0.5}}),
        "b": spec({**adam, "arguments": {"eta": 0.2}}),
        "c": spec({"name": "flower", "class": "flwr.serverapp.strategy.FedAvg", "arguments": {}}),
    }
    assert axis_values(specs) == {
        "strategy": {
            "a": "flower · FedAdam · eta 0.1 · beta 1 0.5",
            "b": "flower · FedAdam · eta 0.2",
            "c": "flower · FedAvg",
        }
    }


def test_equal_specs_have_no_axes() -> None:
    assert axis_values({"a": spec({"name": "fedavg"}, seed=0), "b": spec({"name": "fedavg"}, seed=1)}) == {}


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([{"strategy": {"name": "fedavg"}}], "1 cell · 1 seed"),
        ([{"strategy": [{"name": "fedavg"}, {"name": "fedprox"}], "seeds": 3}], "2 strategies · 3 seeds"),
        (
            [
                {
                    "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 0.5]}],
                    "strategy": [{"name": "fedavg"}, {"name": "fedprox"}],
                    "seeds": [0, 7],
                }
            ],
            "2 strategies × 3 partitions · 2 seeds",
        ),
        ([{"local": {"batch_size": [16, 32], "optimizer": {"name": "sgd", "lr": [0.1, 0.2, 0.3]}}}], None),
        ([{"seeds": 2}, {"seeds": 5}], "2 blocks · 2–5 seeds"),
    ],
)
def test_it_tells_what_a_study_varies(blocks: list[dict[str, Any]], text: str | None) -> None:
    assert axes_text(blocks) == (text or "2 batch sizes × 3 optimizers · 1 seed")


def test_what_varies_only_between_studies_is_called_by_their_names() -> None:
    specs = {
        "a": spec({"name": "fedavg"}, {"name": "iid"}, rounds=5, clients=3),
        "b": spec({"name": "fedavg"}, {"name": "shards"}, rounds=5, clients=3),
        "c": spec({"name": "fedavg"}, {"name": "iid"}, rounds=9, clients=4),
    }
    assert axis_values(specs, {"a": "Short", "b": "Short", "c": "Long"}) == {
        "partition": {"a": "iid", "b": "shards", "c": "iid"},
        "study": {"a": "Short", "b": "Short", "c": "Long"},
    }
    assert list(axis_values(specs, {"a": "Short", "b": "Short", "c": "Short"})) == ["partition", "rounds", "clients"]


def test_what_the_data_set_decides_is_told_by_the_data_set() -> None:
    axes = {
        "strategy": {"a": "fedavg", "b": "fedprox", "c": "fedavg", "d": "fedprox"},
        "dataset": {"a": "svhn", "b": "svhn", "c": "cifar10", "d": "cifar10"},
        "partition": {"a": "iid", "b": "iid", "c": "natural", "d": "natural"},
        "local.batch_size": {"a": "64", "b": "64", "c": "128", "d": "128"},
        "rounds": {"a": "5", "b": "9", "c": "5", "d": "9"},
    }
    assert list(drop_redundant_axes(axes)) == ["strategy", "dataset", "partition", "rounds"]
    assert list(drop_redundant_axes({"rounds": axes["rounds"]})) == ["rounds"]
