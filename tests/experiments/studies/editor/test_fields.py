"""The form follows the catalog and RunSpec: a new component or field appears by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.studies.editor.fields import app_options, editor_fields, field_title
from workers.catalog import load_catalog


def field(path: str) -> dict[str, Any]:
    return next(each for each in editor_fields() if each["path"] == path)


def test_it_offers_every_component_of_the_catalog() -> None:
    for path, kind in {"dataset": "dataset", "strategy": "strategy", "local.optimizer": "optimizer"}.items():
        offered = [option["name"] for option in field(path)["options"]]
        assert sorted(offered) == sorted(load_catalog().components[kind])  # type: ignore[index]


def test_the_usual_ones_come_first_and_of_data_sets_those_that_are_here() -> None:
    assert [option["name"] for option in field("strategy")["options"]][:3] == ["fedavg", "fedprox", "scaffold"]
    ready = [option["ready"] for option in field("dataset")["options"]]
    assert ready == sorted(ready, reverse=True)
    assert {option["name"]: option["ready"] for option in field("dataset")["options"]}["digits"] is True


def test_a_components_parameters_have_default_range_and_words() -> None:
    fedprox = next(option for option in field("strategy")["options"] if option["name"] == "fedprox")
    mu = fedprox["parameters"][0]
    assert (mu["path"], mu["kind"], mu["default"], mu["range"]) == ("mu", "number", 0.01, "0 or more")
    assert mu["description"] == "Weight of the proximal term."
    assert (fedprox["short_label"], fedprox["named_by"], mu["symbol"]) == ("FedProx", ("mu",), "μ")


def test_a_composed_strategy_is_three_parts_with_parameters_of_their_own() -> None:
    composed = next(option for option in field("strategy")["options"] if option["name"] == "composed")
    assert [(each["path"], each["kind"], each["default"]["name"]) for each in composed["parameters"]] == [
        ("client", "part", "plain"),
        ("aggregate", "part", "mean"),
        ("server", "part", "none"),
    ]
    fedprox = next(option for option in composed["parameters"][0]["options"] if option["name"] == "fedprox")
    assert (fedprox["label"], fedprox["summary"]) == (
        "FedProx",
        "Held near the global model: the gradient gains mu (w - w_t).",
    )
    assert [(each["path"], each["default"], each["range"]) for each in fedprox["parameters"]] == [
        ("mu", 0.01, "0 or more")
    ]


def test_it_has_every_field_of_a_spec_but_the_seed() -> None:
    paths = [each["path"] for each in editor_fields()]
    assert paths[:10] == [
        "dataset",
        "model",
        "partition",
        "strategy",
        "local.optimizer",
        "rounds",
        "clients",
        "cohort",
        "local.epochs",
        "local.batch_size",
    ]
    assert {"hybrid.ratio", "evaluation.on", "stop.patience", "precision", "attack", "privacy", "compression"} <= set(
        paths
    )
    assert "seed" not in paths


def test_choices_and_bounds_come_from_the_schema() -> None:
    assert field("hybrid.method")["options"] == ["share-disjoint", "unify"]
    assert field("hybrid.ratio")["range"] == "0 to 1"
    assert field("client_dropout")["range"] == "0 or more, below 1"
    assert (field("cohort")["nullable"], field("cohort")["title"]) == (True, "Clients per round")


def test_a_strategy_of_flowers_has_classes_to_choose_from_and_a_mapping_for_its_arguments() -> None:
    flower = next(option for option in field("strategy")["options"] if option["name"] == "flower")
    choice, arguments = flower["parameters"]

    assert (choice["path"], choice["kind"], choice["default"]) == ("class", "text", "flwr.serverapp.strategy.FedAvg")
    assert "flwr.serverapp.strategy.Krum" in choice["suggestions"]
    assert (arguments["path"], arguments["kind"], arguments["default"]) == ("arguments", "mapping", {})


def test_an_app_offers_every_key_of_its_config_but_the_seed(apps: Path) -> None:
    (digits,) = (each for each in app_options() if each["name"] == "torch-digits")
    fields = {each["path"]: (each["title"], each["kind"], each["default"], each["main"]) for each in digits["fields"]}
    assert fields == {
        "app.config.num-server-rounds": ("num-server-rounds", "integer", 3, True),
        "app.config.fraction-train": ("fraction-train", "number", 0.6, True),
        "app.config.local-epochs": ("local-epochs", "integer", 1, True),
        "app.config.batch-size": ("batch-size", "integer", 32, True),
        "app.config.optimizer.lr": ("optimizer.lr", "number", 0.15, True),
        "app.config.optimizer.momentum": ("optimizer.momentum", "number", 0.9, True),
        "app.clients": ("Clients", "integer", 10, True),
        "app.metrics": ("Metrics by our names", "mapping", None, False),
        "engine": ("Engine", "choice", "auto", False),
    }
    (squares,) = (each for each in app_options() if each["name"] == "numpy-least-squares")
    assert "app.config.seed" not in [each["path"] for each in squares["fields"]]


def test_a_key_of_an_apps_config_is_called_as_the_app_spells_it() -> None:
    assert field_title("app.config.optimizer.lr") == "optimizer.lr"
