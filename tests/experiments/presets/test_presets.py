from __future__ import annotations

import pytest

from experiments.presets.claims import merge_matches
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
        # the weighted loss at two batch sizes and plain batches of 64, three ratios; five preliminary runs
        ("iaisy-2024", 2 * 880 + 3 * 3 * 20 + 5, 2 * 2 * 2 * 11 + 9 + 5),
        # five methods, the equal split of three, noise as a deviation; two tuning cells are in the main grid
        ("tagarakis-2023", 5 * (50 + 30 + 20) + 2 * 27 - 2, 50 + 30 + 20 + 2 * 27 - 2),
        ("mazarakis-2023", 3 * (36 + 12 + 18), 36 + 12 + 18),
        ("niid-bench", 4 * 7 * 4 * 3, 4 * 7 * 4),
        ("athena-fl-2023", 3 * 2 * 3 * 2 * (2 + 3), 2 * 3 * 2 * (2 + 3)),
        ("bozorgzad-2024", 16 + 16 + 5 + 8 + 8 + 8 + 8 + 5 * 13, 16 + 16 + 5 + 8 + 8 + 8 + 8 + 13),
    ],
)
def test_the_full_scale_is_the_published_grid(name: str, runs: int, cells: int) -> None:
    grid = expand(presets()[name].scales["full"].blocks)
    assert (len(grid.runs), grid.cells) == (runs, cells)


def test_iaisys_published_grid_has_880_runs_for_each_data_set() -> None:
    runs = expand(presets()["iaisy-2024"].scales["full"].blocks[:2]).runs
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
        own = [each for each in presets()[name].published if not (each.fitted or each.repeated)]
        return [each.value for each in own if spec_matches(each.model_dump(), fields)]

    ratio = {"dataset": {"name": "uci-har"}, "hybrid": {"ratio": 0.0}}
    assert value("iaisy-2024", match=ratio) == [91.15, 15.0]
    svhn = {"dataset": {"name": "svhn"}, "strategy": {"name": "fedloss"}, "partition": {"name": "label-dirichlet"}}
    assert 82.0 in value("tagarakis-2023", match={**svhn, "feature_noise": 0.0}, reading={"take": "at", "round": 50})
    mnist = {"dataset": {"name": "mnist"}, "strategy": {"name": "fedavg"}, "partition": {"name": "label-dirichlet"}}
    assert value("mazarakis-2023", match=mnist) == [97.91, 91.95, 29.84]


@pytest.mark.parametrize(
    ("name", "counted", "fitted", "repeated"),
    [
        ("athena-fl-2023", 31, 0, 21),
        ("bozorgzad-2024", 8, 0, 0),
        ("iaisy-2024", 14, 15, 0),
        ("mazarakis-2023", 114, 0, 36),
        ("niid-bench", 0, 0, 0),
        ("tagarakis-2023", 228, 4, 0),
    ],
)
def test_a_printed_number_is_counted_once(name: str, counted: int, fitted: int, repeated: int) -> None:
    published = presets()[name].published
    own = [each for each in published if not (each.fitted or each.repeated)]
    assert (len(own), sum(each.fitted for each in published), sum(each.repeated for each in published)) == (
        counted,
        fitted,
        repeated,
    )


@pytest.mark.parametrize("name", FIVE)
def test_every_claim_is_about_cells_of_the_full_grid(name: str) -> None:
    specs = [run.spec.model_dump(mode="json") for run in expand(presets()[name].scales["full"].blocks).runs]
    for claim in presets()[name].claims:
        for where in claim.where:
            for side in (claim.higher, *claim.lower):
                assert any(spec_matches(spec, merge_matches(where, side)) for spec in specs), (claim.text, side)


def test_the_skewed_sizes_of_cifar100_leave_every_client_a_hundred_samples() -> None:
    runs = expand(presets()["mazarakis-2023"].scales["full"].blocks).runs
    sizes = {
        run.spec.dataset.name: run.spec.partition.min_size  # type: ignore[union-attr]
        for run in runs
        if run.spec.partition.name == "quantity-dirichlet"  # type: ignore[union-attr]
    }
    assert sizes == {"mnist": 10, "cifar10": 10, "cifar100": 100}
