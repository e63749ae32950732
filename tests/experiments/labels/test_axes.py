from __future__ import annotations

from typing import Any

import pytest

from experiments.labels.axes import axes_text, axis_values, drop_redundant_axes, sort_axes
from workers.spec import flatten


def spec(strategy: dict[str, Any], partition: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"strategy": strategy, "partition": partition or {"name": "iid"}, "hybrid": {"ratio": 0.0}, **fields}


def test_a_component_and_its_parameters_are_one_axis() -> None:
    specs = {
        "a": spec({"name": "fedavg"}),
        "b": spec({"name": "fedprox", "mu": 0.01}),
        "c": spec({"name": "fedprox", "mu": 0.1}),
    }
    assert axis_values(specs) == {"strategy": {"a": "FedAvg", "b": "FedProx (μ = 0.01)", "c": "FedProx (μ = 0.1)"}}
    assert axis_values(specs, wording="slug") == {
        "strategy": {"a": "fedavg", "b": "fedprox · mu 0.01", "c": "fedprox · mu 0.1"}
    }


def test_parameters_at_their_default_are_told_where_they_belong_to_the_name() -> None:
    partition = {"name": "label-dirichlet", "alpha": 0.5, "balanced": True, "min_size": 10}
    specs = {"a": spec({"name": "fedavg"}), "b": spec({"name": "fedavg"}, partition)}
    assert axis_values(specs) == {"partition": {"a": "IID", "b": "Dirichlet (α = 0.5)"}}
    assert axis_values(specs, wording="slug") == {"partition": {"a": "iid", "b": "label-dirichlet"}}


def test_the_data_set_comes_first_and_plain_fields_are_named() -> None:
    specs = {
        "a": spec({"name": "fedavg"}, hybrid={"ratio": 0.0}, clients=5, dataset={"name": "mnist"}),
        "b": spec({"name": "fedprox", "mu": 0.01}, hybrid={"ratio": 0.2}, clients=None, dataset={"name": "uci-har"}),
    }
    names = axis_values(specs)
    assert list(names) == ["dataset", "strategy", "hybrid.ratio", "clients"]
    assert names == {
        "dataset": {"a": "MNIST", "b": "UCI HAR"},
        "strategy": {"a": "FedAvg", "b": "FedProx (μ = 0.01)"},
        "hybrid.ratio": {"a": "hybrid 0 %", "b": "hybrid 20 %"},
        "clients": {"a": "5 clients", "b": "all natural clients"},
    }
    assert axis_values(specs, wording="column")["hybrid.ratio"] == {"a": "0 %", "b": "20 %"}


def test_numbers_are_in_the_order_of_their_size() -> None:
    ratios = {"a": 0.5, "b": 0.0, "c": 10.0, "d": 0.1}
    specs = {cell: spec({"name": "fedprox", "mu": ratio}, hybrid={"ratio": ratio}) for cell, ratio in ratios.items()}
    flat = {cell: flatten(each) for cell, each in specs.items()}
    ordered = sort_axes(axis_values(specs), flat)
    assert list(ordered["hybrid.ratio"].values()) == ["hybrid 0 %", "hybrid 10 %", "hybrid 50 %", "hybrid 1000 %"]
    assert list(ordered["strategy"].values()) == [
        "FedProx (μ = 0)",
        "FedProx (μ = 0.1)",
        "FedProx (μ = 0.5)",
        "FedProx (μ = 10)",
    ]


def test_a_strategy_of_flowers_goes_by_its_class_and_its_arguments() -> None:
    adam = {"name": "flower", "class": "flwr.serverapp.strategy.FedAdam"}
    specs = {
        "a": spec({**adam, "arguments": {"eta": 0.1, "beta_1": 0.5}}),
        "b": spec({**adam, "arguments": {"eta": 0.2}}),
        "c": spec({"name": "flower", "class": "flwr.serverapp.strategy.FedAvg", "arguments": {}}),
    }
    assert axis_values(specs) == {
        "strategy": {
            "a": "Flower FedAdam (η = 0.1, β₁ = 0.5)",
            "b": "Flower FedAdam (η = 0.2)",
            "c": "Flower FedAvg",
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


def test_what_varies_only_between_studies_is_an_axis_too() -> None:
    specs = {
        "a": spec({"name": "fedavg"}, {"name": "iid"}, rounds=5, clients=3),
        "b": spec({"name": "fedavg"}, {"name": "shards"}, rounds=5, clients=3),
        "c": spec({"name": "fedavg"}, {"name": "iid"}, rounds=9, clients=4),
    }
    assert list(axis_values(specs, {"a": "Short", "b": "Short", "c": "Long"})) == ["partition", "rounds", "clients"]
    equal = {"a": specs["a"], "b": specs["a"]}
    assert axis_values(equal, {"a": "First", "b": "Second"}) == {"study": {"a": "First", "b": "Second"}}


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


def test_a_composed_strategy_is_told_by_its_parts_and_what_is_not_their_default():
    specs = {
        "a": {"strategy": {"name": "composed", "client": {"name": "plain"}, "aggregate": {"name": "median"}}},
        "b": {
            "strategy": {
                "name": "composed",
                "client": {"name": "fedprox", "mu": 0.1},
                "aggregate": {"name": "mean"},
                "server": {"name": "adam", "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "tau": 0.001},
            }
        },
    }

    assert axis_values(specs)["strategy"] == {
        "a": "Composed (client = plain, aggregate = median)",
        "b": "Composed (client = fedprox, μ = 0.1, aggregate = mean, server = adam)",
    }


def test_the_share_of_malicious_clients_is_an_axis_of_its_own():
    specs = {
        str(share): {"strategy": {"name": "fedavg"}, "attack": {"name": "sign-flip", "share": share, "scale": 1.0}}
        for share in (0.0, 0.2)
    }

    assert axis_values(specs) == {"attack.share": {"0.0": "attack share 0", "0.2": "attack share 0.2"}}
