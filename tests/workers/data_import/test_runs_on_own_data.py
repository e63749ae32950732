"""Runs on what was imported: tables with mlp and logistic, pictures with cnn, a client column as natural clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.data_import.own_data import import_own, write_picture, write_text
from workers.engine import simulate
from workers.engine.federation import make_federation
from workers.errors import SpecError
from workers.spec import canonical_hash, parse_run


def run_spec(**fields: Any) -> Any:
    base = {
        "dataset": {"name": "own", "set": "hills"},
        "model": {"name": "logistic"},
        "strategy": {"name": "fedavg"},
        "clients": 2,
        "rounds": 8,
        "local": {"batch_size": 4, "epochs": 2, "optimizer": {"name": "sgd", "lr": 0.5}},
    }
    return parse_run({**base, **fields})


@pytest.fixture
def hills(tmp_path: Path) -> Path:
    """Above 500 m it snows, except that the colour of the roof says nothing; three villages."""
    rows = [
        f"{100 * row},{'red' if row % 3 else 'grey'},{'abc'[row % 3]},{'snow' if row >= 5 else 'rain'}"
        for row in range(10)
    ]
    return write_text(tmp_path / "hills.csv", "height,roof,village,weather", *rows * 4)


@pytest.mark.parametrize("model", [{"name": "logistic"}, {"name": "mlp", "hidden": (8,)}])
def test_a_table_is_learnt(hills: Path, model: dict[str, Any]) -> None:
    import_own(hills, target="weather", leave_out=["village"])
    last = simulate(run_spec(model=model), device="cpu").history[-1]
    assert last.metrics["accuracy"] == 1.0
    assert last.metrics["recall.rain"] == last.metrics["recall.snow"] == 1.0


def test_a_client_column_makes_the_federation(hills: Path) -> None:
    import_own(hills, target="weather", client="village", test_share=0.25)
    spec = run_spec(partition={"name": "natural"}, clients=None)
    # of 10 hills villages a, b, c have 4, 3, 3, four times over; a quarter of each is for testing
    assert [len(client.train) for client in make_federation(spec).clients] == [12, 9, 9]
    assert len(make_federation(spec).test_y) == 10
    two = make_federation(run_spec(partition={"name": "natural"}, clients=2))
    assert ([len(client.train) for client in two.clients], len(two.test_y)) == ([12, 9], 7)
    assert simulate(spec, device="cpu").history[-1].metrics["accuracy"] == 1.0


def test_a_folder_of_pictures_is_learnt_by_a_cnn(tmp_path: Path) -> None:
    for row in range(16):
        picture = np.full((8, 8), 20 + row)
        picture[:, row % 2 * 4 : row % 2 * 4 + 4] = 220
        write_picture(tmp_path / "hills" / ("left", "right")[row % 2] / f"{row:02}.png", picture)
    import_own(tmp_path / "hills")
    spec = run_spec(model={"name": "cnn", "widths": (4,), "dense": (8,)})
    last = simulate(spec, device="cpu").history[-1]
    assert last.metrics["recall.left"] == last.metrics["recall.right"] == 1.0


def test_what_was_not_imported_is_refused_and_other_data_is_another_run(hills: Path) -> None:
    with pytest.raises(SpecError) as caught:
        run_spec()
    message = "No hills was imported: run `manage.py datasets import own PATH --name hills` first."
    assert [(each.path, each.message) for each in caught.value.errors] == [("dataset.set", message)]
    import_own(hills, target="weather")
    first = canonical_hash(run_spec())
    import_own(hills, target="weather", standardise=False)
    assert canonical_hash(run_spec()) != first
