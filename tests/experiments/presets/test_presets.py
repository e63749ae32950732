from __future__ import annotations

import pytest

from experiments.presets.comparison import spec_matches
from experiments.presets.preset import presets
from workers.spec import expand

FIVE = ["athena-fl-2023", "bozorgzad-2024", "iaisy-2024", "mazarakis-2023", "tagarakis-2023"]


def test_there_is_a_preset_for_each_study_and_the_benchmark() -> None:
    assert list(presets()) == sorted([*FIVE, "niid-bench"])
    assert all(preset.name == name for name, preset in presets().items())


@pytest.mark.parametrize(
    ("name", "runs", "cells"),
    [
        ("iaisy-2024", 2 * 880, 2 * 2 * 2 * 11),
        ("tagarakis-2023", 2 * 5 * 4 * 5 + 2 * 27 - 2, 2 * 5 * 4 + 2 * 27 - 2),  # two tuning cells are in the main grid
        ("mazarakis-2023", 36 + 18, 36 + 18),
        ("niid-bench", 4 * 7 * 4 * 3, 4 * 7 * 4),
        ("athena-fl-2023", 2 * 3 * (2 + 3), 2 * 3 * (2 + 3)),
        ("bozorgzad-2024", 16 + 16 + 5 + 8 + 8 + 8 + 8 + 5 * 13, 16 + 16 + 5 + 8 + 8 + 8 + 8 + 13),
    ],
)
def test_the_full_scale_is_the_published_grid(name: str, runs: int, cells: int) -> None:
    grid = expand(presets()[name].scales["full"].blocks)
    assert (len(grid.runs), grid.cells) == (runs, cells)


def test_iaisys_grid_has_880_runs_for_each_data_set() -> None:
    runs = expand(presets()["iaisy-2024"].scales["full"].blocks).runs
    assert {name: sum(run.spec.dataset.name == name for run in runs) for name in ("uci-har", "femnist")} == {
        "uci-har": 880,
        "femnist": 880,
    }


@pytest.mark.parametrize("name", FIVE)
def test_every_published_number_is_about_a_cell_of_the_full_grid(name: str) -> None:
    specs = [run.spec.model_dump(mode="json") for run in expand(presets()[name].scales["full"].blocks).runs]
    for each in presets()[name].published:
        for match in [each.match, *([each.against] if each.against else [])]:
            assert any(spec_matches(spec, match) for spec in specs), match


@pytest.mark.parametrize("name", [*FIVE, "niid-bench"])
def test_the_quick_scale_is_small_and_says_what_was_cut(name: str) -> None:
    quick = presets()[name].scales["quick"]
    assert 0 < len(expand(quick.blocks).runs) <= 28
    assert "as published" in quick.note or "as in the benchmark" in quick.note


def test_the_published_numbers_are_the_papers() -> None:
    def value(name: str, **fields: object) -> list[float]:
        matching = [each for each in presets()[name].published if spec_matches(each.model_dump(), fields)]
        return [each.value for each in matching]

    ratio = {"dataset": {"name": "uci-har"}, "hybrid": {"ratio": 0.0}}
    assert value("iaisy-2024", match=ratio) == [91.15, 15.0]
    svhn = {"dataset": {"name": "svhn"}, "strategy": {"name": "fedloss"}, "partition": {"name": "label-dirichlet"}}
    assert 82.0 in value("tagarakis-2023", match={**svhn, "feature_noise": 0.0}, reading={"take": "at", "round": 50})
    mnist = {"dataset": {"name": "mnist"}, "strategy": {"name": "fedavg"}, "partition": {"name": "label-dirichlet"}}
    assert value("mazarakis-2023", match=mnist) == [97.91, 91.95, 29.84]
