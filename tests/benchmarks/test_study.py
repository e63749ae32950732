from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.publish import ROOT
from benchmarks.study.grids import CNN, GRIDS, HAR, LR, QUICK_GRIDS
from benchmarks.study.report import (
    MARKS,
    cell_table,
    duration_text,
    engine_ratio,
    flower_line,
    missed_floors,
    platform_share,
    study_ratios,
    study_table,
)
from workers.spec import expand

MACHINE = {"cpu": "Some CPU", "cores": 2, "memory_gb": 16, "system": "Linux x86_64", "python": "3.11.7"}
MACHINE |= {"packages": {"torch": "2.13.0"}}
CELLS = [
    {"optimizer": {"name": "sgd"}, "ratio": 0.0, "plain": 12.0, "engine": 2.0},
    {"optimizer": {"name": "adamw"}, "ratio": 0.0, "plain": 16.0, "engine": 4.0},
    {"optimizer": {"name": "sgd"}, "ratio": 0.5, "plain": 11.0, "engine": 5.0},
    {"optimizer": {"name": "adamw"}, "ratio": 0.5, "plain": 18.0, "engine": 4.5},
]


def grid_result(wall: float, plain: list[float], **facts: Any) -> dict[str, Any]:
    shares = {"train": 0.8, "aggregate": 0.01, "evaluate": 0.05}
    result = {"runs": 88, "wall": wall, "shares": shares, "own": 0.88, "engine": [90.0, 110.0], "plain": plain}
    return {**result, "cells": CELLS, "data": "uci-har", **facts}


RESULTS = {
    "machine": MACHINE,
    "grids": {
        "har": grid_result(120.0, [590.0, 610.0]),
        "lr": grid_result(20.0, [140.0, 140.0], runs=40, own=0.95, data="made"),
    },
    "flower": [{"process": 40.0, "rounds": 22.0}, {"process": 44.0, "rounds": 24.0}],
}


def test_the_table_has_a_row_for_each_grid_and_the_ratio_of_each_cell() -> None:
    lines = study_table(RESULTS).splitlines()
    assert lines[4] == (
        "| HAR: MLP 561-50-6, 21 subjects, 5 epochs, 11 ratios x SGD and AdamW | 88 | 2.0 min | 44.0 | 80% | 5% "
        "| 12.0% | 100.00 s | 10.0 min | **5.0x** faster | 4x |"
    )
    assert " 10 learning rates (made data) | 40 | 20.00 s | 120.0 |" in lines[5]
    assert cell_table(RESULTS["grids"]["har"]) == [
        "| seconds a HAR run, ratio | 0 | 0.5 |",
        "| --- | ---: | ---: |",
        "| sgd, plain script | 12.00 | 11.00 |",
        "| sgd, engine alone | 2.00 | 5.00 |",
        "| sgd, ratio | **6.0** | **2.2** |",
        "| adamw, plain script | 16.00 | 18.00 |",
        "| adamw, engine alone | 4.00 | 4.50 |",
        "| adamw, ratio | **4.0** | **4.0** |",
    ]


def test_flowers_way_is_one_process_for_each_run_of_the_grid() -> None:
    """42 s x 40 runs / 20 s, and 23 s of rounds x 40 / 20 s."""
    assert "28.0 min for its 40 runs. Tributary is **84x** faster (floor 40x), and 46x where" in flower_line(RESULTS)


def test_what_is_missed_is_named() -> None:
    assert list(missed_floors(RESULTS)) == [
        "har, sgd, ratio 0.5: 2.20x the plain script, the floor is 3x",
        "har: the platform took 12.0%, the limit is 10%",
        "lr: 7.00x the plain script, the floor is 8x",
    ]


def test_shares_and_ratios_are_of_the_whole_study() -> None:
    assert platform_share(RESULTS["grids"]["har"]) == pytest.approx(0.12)
    assert engine_ratio(RESULTS["grids"]["har"]) == pytest.approx(1.2)
    ratios = study_ratios(RESULTS)
    assert {name: ratio.value for name, ratio in ratios.items()} == pytest.approx(
        {"har, plain script": 5.0, "lr, plain script": 7.0, "lr, Flower, process": 84.0, "lr, Flower, rounds": 46.0}
    )
    assert [duration_text(seconds) for seconds in (0.5, 119.0, 120.0)] == ["500.0 ms", "119.00 s", "2.0 min"]


@pytest.mark.parametrize(("grid", "runs"), [(HAR, 88), (LR, 40), (CNN, 8)])
def test_a_grid_has_as_many_runs_as_it_says(grid: Any, runs: int) -> None:
    made = expand([grid.on_made_data().block]).runs
    assert len(made) == runs
    assert len({run.cell for run in made}) * grid.seeds == runs


def test_every_grid_has_a_small_form() -> None:
    assert list(QUICK_GRIDS) == list(GRIDS)
    assert [len(expand([grid.on_made_data().block]).runs) for grid in QUICK_GRIDS.values()] == [6, 2, 4]


@pytest.mark.parametrize(("ratio", "clients"), [(0.0, 3), (0.5, 4), (1.0, 1)])
def test_the_plain_script_trains_what_the_grid_says(ratio: float, clients: int) -> None:
    """Three clients whose label is their first value: two rounds are enough for a script that learns at all."""
    from benchmarks.study.plain import PlainRun

    data = easy_data()
    run = PlainRun(har_spec(ratio), as_tensors(data))
    assert len(run.clients) == clients
    assert sorted(np.concatenate(run.clients).tolist()) == list(range(90))
    run.advance()
    run.advance()
    assert run.accuracy == 1.0


def test_the_plain_script_tells_of_every_run(tmp_path: Path) -> None:
    from benchmarks.study.plain import main

    np.savez(tmp_path / "data.npz", **easy_data())
    job = {"data": str(tmp_path / "data.npz"), "specs": [har_spec(0.0), har_spec(1.0)], "rounds": 2}
    (tmp_path / "job").write_text(json.dumps(job))
    main(str(tmp_path / "job"), str(tmp_path / "out"))
    runs = json.loads((tmp_path / "out").read_text())
    assert [len(run["rounds"]) for run in runs] == [2, 2]
    assert [run["accuracy"] for run in runs] == [1.0, 1.0]


def test_the_page_has_a_place_for_it() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert page.index(MARKS[0]) < page.index(MARKS[1])


def easy_data() -> dict[str, np.ndarray]:
    y = np.arange(90) % 6
    x = np.zeros((90, 561), dtype=np.float32)
    x[np.arange(90), y] = 5.0
    return {"x": x, "y": y, "test_x": x[:12], "test_y": y[:12], "owner": np.arange(90) // 30}


def as_tensors(data: dict[str, np.ndarray]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in data.items()}


def har_spec(ratio: float) -> dict[str, Any]:
    local = {"epochs": 5, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9}}
    hybrid = {"method": "share-disjoint", "ratio": ratio}
    return {"model": {"name": "mlp-50"}, "hybrid": hybrid, "cohort": None, "local": local, "seed": 0}
