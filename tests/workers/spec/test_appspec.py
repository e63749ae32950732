"""A run of an app: its config is checked against the app's own, filled in, and part of its identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workers.errors import Problem, SpecError
from workers.spec import canonical_hash, cell_hash, expand, flatten, parse_spec

APPS = Path(__file__).parents[1] / "apps" / "examples"


@pytest.fixture(autouse=True)
def apps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))
    monkeypatch.setenv("TRIBUTARY_APPS", str(APPS))


def spec_of(**app: Any) -> dict[str, Any]:
    return {"app": {"name": "torch-digits", **app}, "seed": 1}


def problems(data: dict[str, Any]) -> list[Problem]:
    with pytest.raises(SpecError) as refusal:
        parse_spec(data)
    return list(refusal.value.errors)


def test_what_is_left_out_has_the_apps_default() -> None:
    spec = parse_spec(spec_of(config={"optimizer": {"lr": 1}}, clients=7))
    assert spec.model_dump(mode="json") == {
        "app": {
            "name": "torch-digits",
            "config": {
                "num-server-rounds": 3,
                "fraction-train": 0.6,
                "local-epochs": 1,
                "batch-size": 32,
                "optimizer.lr": 1.0,
                "optimizer.momentum": 0.9,
            },
            "clients": 7,
            "metrics": {},
        },
        "seed": 1,
        "engine": "auto",
    }
    assert spec.rounds == 3


def test_unknown_keys_wrong_types_and_foreign_fields_are_refused_together() -> None:
    config = {"batch-size": 8.5, "optimizer.lr": "fast", "layers": 3, "local-epochs": True}
    assert problems({**spec_of(config=config), "rounds": 3}) == [
        Problem("app.config.batch-size", "A whole number, as the app's default is, got 8.5."),
        Problem(
            "app.config.layers",
            "Unknown field. torch-digits takes num-server-rounds, fraction-train, local-epochs, batch-size, "
            "optimizer.lr, optimizer.momentum.",
        ),
        Problem("app.config.local-epochs", "A whole number, as the app's default is, got True."),
        Problem("app.config.optimizer.lr", "A number, as the app's default is, got 'fast'."),
        Problem(
            "rounds",
            "A run of an app has app, seed and engine only: the app brings its own data, model and strategy.",
        ),
    ]


def test_an_unknown_app_and_a_seed_of_ones_own_are_refused() -> None:
    assert problems({"app": {"name": "nobodys"}})[0].path == "app.name"
    seeded = {"app": {"name": "numpy-least-squares", "config": {"seed": 3}}}
    assert problems(seeded) == [
        Problem("app.config.seed", "The run's own seed is put there: give `seeds` instead."),
    ]


def test_every_key_may_be_an_axis_and_is_named_after_the_app() -> None:
    config = {"learning-rate": [0.01, 0.1], "num-server-rounds": 10}
    grid = expand([{"app": {"name": "numpy-least-squares", "config": config, "clients": [5, 10]}, "seeds": 3}])
    assert (len(grid.runs), grid.cells) == (12, 4)
    flat = flatten(grid.runs[0].spec.model_dump(mode="json"))
    assert flat["app"] == "numpy-least-squares"
    assert (flat["app.learning-rate"], flat["app.num-server-rounds"], flat["app.clients"]) == (0.01, 10, 5)


def test_a_problem_of_an_axis_is_told_where_it_was_written() -> None:
    block = {"app": {"name": "torch-digits", "config": {"optimizer": {"lr": [0.1, "fast"]}}}}
    with pytest.raises(SpecError) as refusal:
        expand([block])
    assert [problem.path for problem in refusal.value.errors] == ["blocks.0.app.config.optimizer.lr.1"]


def test_identity_has_the_apps_content_and_not_the_way_it_was_written(tmp_path: Path, monkeypatch: Any) -> None:
    first = parse_spec(spec_of(config={"optimizer.lr": 1}))
    same = parse_spec(spec_of(config={"optimizer": {"lr": 1.0}, "batch-size": 32}))
    other = parse_spec(spec_of(config={"optimizer.lr": 2}))
    assert canonical_hash(first) == canonical_hash(same) != canonical_hash(other)
    assert cell_hash(first) == cell_hash(parse_spec({**spec_of(config={"optimizer.lr": 1}), "seed": 9}))
    copy = tmp_path / "copies" / "torch-digits"
    for path in (APPS / "torch-digits").rglob("*.*"):
        if path.is_file() and path.suffix != ".pyc":
            target = copy / path.relative_to(APPS / "torch-digits")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    monkeypatch.setenv("TRIBUTARY_APPS", str(copy.parent))
    before = canonical_hash(parse_spec(spec_of()))
    (copy / "README.md").write_text("another app now")
    assert canonical_hash(parse_spec(spec_of())) != before
