from __future__ import annotations

from typing import Any

import pytest

from experiments.labels.names import axis_title, cell_name, component_words, field_name
from workers.spec import parse_run


def run_name(**changes: Any) -> str:
    fields = {"dataset": {"name": "uci-har"}, "model": {"name": "mlp-50"}, "strategy": {"name": "fedavg"}, **changes}
    return cell_name(parse_run(fields).model_dump(mode="json"))


def test_three_runs_that_differ_in_ratio_and_alpha_have_three_names() -> None:
    hybrid = {"method": "share-disjoint", "ratio": 0.2}
    dirichlet = {"name": "label-dirichlet", "alpha": 0.3}
    assert [run_name(), run_name(hybrid=hybrid), run_name(hybrid=hybrid, partition=dirichlet)] == [
        "FedAvg · MLP 50 · UCI HAR · IID",
        "FedAvg · MLP 50 · UCI HAR · IID · hybrid 20 % (share-disjoint)",
        "FedAvg · MLP 50 · UCI HAR · Dirichlet (α = 0.3) · hybrid 20 % (share-disjoint)",
    ]


def test_a_name_has_what_is_not_as_always() -> None:
    partition = {"name": "label-dirichlet", "balanced": False}
    name = run_name(strategy={"name": "fedprox", "mu": 0.1}, partition=partition, feature_noise=0.5)
    assert name == "FedProx (μ = 0.1) · MLP 50 · UCI HAR · Dirichlet (α = 0.5, not balanced) · noise σ = 0.5"


def test_an_app_goes_by_its_name_and_config() -> None:
    spec = {"app": {"name": "quickstart", "config": {"learning-rate": 0.1, "fast": True}, "clients": 4}, "seed": 0}
    assert cell_name(spec) == "quickstart · fast yes · learning-rate 0.1"


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("hybrid.ratio", 0.35, "hybrid 35 %"),
        ("hybrid.method", "unify", "unify"),
        ("local.epochs", 1, "1 epoch"),
        ("rounds", 1000, "1,000 rounds"),
        ("fraction", 0.1, "10 % a round"),
        ("clients", None, "all natural clients"),
        ("evaluation.on", "clients", "evaluation on clients"),
        ("local.class_weights", None, "no class weights"),
        ("local.class_weights", [1.0, 2.5], "class weights [1, 2.5]"),
        ("local.steps", None, "local steps none"),
    ],
)
def test_a_field_names_itself(field: str, value: Any, text: str) -> None:
    assert field_name(field, value) == text


def test_what_is_gone_from_the_catalog_goes_by_its_slug() -> None:
    row = {"strategy": "their-own", "strategy.step_size": 0.5}
    assert component_words("strategy", row, ["strategy.step_size"]) == "their-own (step size = 0.5)"


def test_titles_are_words() -> None:
    assert [axis_title(each) for each in ("dataset", "hybrid.ratio", "app.learning-rate")] == [
        "data set",
        "hybrid ratio",
        "learning-rate",
    ]
