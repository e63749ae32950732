"""The form follows the catalog and RunSpec: a new component or field appears by itself."""

from __future__ import annotations

from typing import Any

from experiments.studies.editor.fields import editor_fields
from workers.catalog import load_catalog


def field(path: str) -> dict[str, Any]:
    return next(each for each in editor_fields() if each["path"] == path)


def test_it_offers_every_component_of_the_catalog() -> None:
    for path, kind in {"dataset": "dataset", "strategy": "strategy", "local.optimizer": "optimizer"}.items():
        offered = [option["name"] for option in field(path)["options"]]
        assert offered == list(load_catalog().components[kind])  # type: ignore[index]


def test_a_components_parameters_have_default_range_and_words() -> None:
    fedprox = next(option for option in field("strategy")["options"] if option["name"] == "fedprox")
    mu = fedprox["parameters"][0]
    assert (mu["path"], mu["kind"], mu["default"], mu["range"]) == ("mu", "number", 0.01, "0 or more")
    assert mu["description"] == "Weight of the proximal term."


def test_it_has_every_field_of_a_spec_but_reserved_ones_and_the_seed() -> None:
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
    assert {"hybrid.ratio", "evaluation.on", "stop.patience", "precision"} <= set(paths)
    assert not {"seed", "attack", "privacy", "compression"} & set(paths)


def test_choices_and_bounds_come_from_the_schema() -> None:
    assert field("hybrid.method")["options"] == ["share-disjoint", "unify"]
    assert field("hybrid.ratio")["range"] == "0 to 1"
    assert field("client_dropout")["range"] == "0 or more, below 1"
    assert (field("cohort")["nullable"], field("cohort")["title"]) == (True, "Clients per round")
