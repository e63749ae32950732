from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from experiments.presets.comparison import (
    NOT_DONE,
    NOT_IN_GRID,
    NOT_READ,
    SEEDS_LOST,
    CellFinder,
    ComparisonRow,
    MeasuredCell,
    compare_with_published,
)
from experiments.presets.preset import Preset

SPEC = {"dataset": {"name": "mnist"}, "strategy": {"name": "fedavg"}, "hybrid": {"ratio": 0.0}, "local": {"epochs": 10}}


def preset(*published: dict[str, Any]) -> Preset:
    scale = {"note": "", "blocks": []}
    texts = {"name": "a", "title": "A", "source": "", "asked": "", "found": "", "differences": [], "displays": []}
    return Preset.model_validate(
        {**texts, "scales": {"full": scale, "quick": scale}, "published": list(published)}, strict=False
    )


def number(value: float = 90.0, **fields: Any) -> dict[str, Any]:
    return {"match": {"strategy": {"name": "fedavg"}}, "reading": {"take": "final"}, "value": value, **fields}


def cell(*ends: float, **changes: Any) -> MeasuredCell:
    return MeasuredCell({**SPEC, **changes}, {seed: [{"accuracy": {0: 0.1, 1: end}}] for seed, end in enumerate(ends)})


def rows(one_preset: Preset, *cells: MeasuredCell, absent: str | None = None) -> list[ComparisonRow]:
    def why(match: Mapping[str, Any]) -> str | None:
        return absent

    return compare_with_published(one_preset, CellFinder(cells, [SPEC], why))


def test_a_cell_is_measured_with_its_interval() -> None:
    """Ends 89.5, 90 and 92 %: mean 90.5, sd sqrt(1.75), t(2) = 4.302653: half width 3.286."""
    (row,) = rows(preset(number(93.5)), cell(0.895, 0.90, 0.92))

    assert (row.mean, row.n) == (pytest.approx(90.5), 3)
    assert (row.low, row.high) == (pytest.approx(90.5 - 3.2862, abs=1e-3), pytest.approx(90.5 + 3.2862, abs=1e-3))
    assert row.difference == pytest.approx(-3.0)
    assert row.inside is True
    (outside,) = rows(preset(number(94.0)), cell(0.895, 0.90, 0.92))
    assert outside.inside is False


def test_an_interval_wider_than_ten_points_confirms_nothing_and_ends_where_accuracies_do() -> None:
    """Ends 89, 94 and 99 %: mean 94, sd 5, half width 12.42: from 81.58 to 100, not to 106.42."""
    (row,) = rows(preset(number(93.0)), cell(0.89, 0.94, 0.99))
    assert (row.low, row.high) == (pytest.approx(94 - 12.4207, abs=1e-3), 100.0)
    assert row.inside is None
    (outside,) = rows(preset(number(70.0)), cell(0.89, 0.94, 0.99))
    assert outside.inside is False


def test_one_seed_has_no_interval() -> None:
    (row,) = rows(preset(number(90.0)), cell(0.9))
    assert (row.mean, row.low, row.inside, row.n) == (pytest.approx(90.0), None, None, 1)


def test_it_says_why_a_number_cannot_be_compared() -> None:
    one_preset = preset(number())
    assert rows(one_preset)[0].reason == NOT_IN_GRID
    assert rows(one_preset, absent="cifar100 is not here yet.")[0].reason == "cifar100 is not here yet."
    assert rows(one_preset, cell())[0].reason == NOT_DONE
    assert rows(preset(number(reading={"take": "at", "round": 50})), cell(0.9))[0].reason == NOT_READ


def test_of_several_cells_the_one_most_like_the_published_counts() -> None:
    (row,) = rows(preset(number()), cell(0.2, local={"epochs": 1}), cell(0.9), cell(0.3, local={"epochs": 25}))
    assert row.mean == pytest.approx(90.0)


def test_the_best_of_all_cells() -> None:
    best = number(reading={"take": "final", "of": "best-cell"})
    (row,) = rows(preset(best), cell(0.2), cell(0.7, hybrid={"ratio": 0.5}), cell(0.6, hybrid={"ratio": 1.0}))
    assert row.mean == pytest.approx(70.0)
    assert row.spec is not None
    assert row.spec["hybrid"] == {"ratio": 0.5}


def test_a_difference_is_taken_over_common_seeds() -> None:
    """Seeds 0 and 1 are in both: differences 1 and 3 points."""
    one_preset = number(
        1.0,
        match={"strategy": {"name": "simfedswap"}},
        against={"strategy": {"name": "fedswap"}},
        reading={"take": "final", "of": "difference"},
        unit="points",
    )
    ours, theirs = (
        cell(0.51, 0.55, strategy={"name": "simfedswap"}),
        cell(0.50, 0.52, 0.1, strategy={"name": "fedswap"}),
    )
    (row,) = rows(preset(one_preset), ours, theirs)

    assert (row.mean, row.n) == (pytest.approx(2.0), 2)
    assert rows(preset(one_preset), ours)[0].reason == NOT_IN_GRID


def test_a_variance_is_in_percent_squared() -> None:
    curves = {"accuracy": {1: 0.90, 2: 0.92}}
    one_preset = preset(number(reading={"take": "variance", "first": 1, "last": 2}))
    (row,) = rows(one_preset, MeasuredCell(SPEC, {0: [curves]}))
    assert row.mean == pytest.approx(2.0)  # 90 and 92 percent


def with_lost(measured: MeasuredCell, *, diverged: int = 0, missing: int = 0) -> MeasuredCell:
    first = len(measured.seeds)
    diverging = {first + place: [{"accuracy": {0: 0.1, 1: math.nan}}] for place in range(diverged)}
    gone: dict[int, Any] = {first + diverged + place: [] for place in range(missing)}
    return MeasuredCell(measured.spec, {**measured.seeds, **diverging, **gone})


def test_seeds_that_are_lost_forbid_an_interval_and_a_difference() -> None:
    (row,) = rows(preset(number(91.0)), with_lost(cell(0.89, 0.90, 0.94), diverged=2, missing=1))
    assert (row.mean, row.n, row.lost, row.missed) == (pytest.approx(91.0), 3, 2, 1)
    assert (row.low, row.high, row.inside, row.difference) == (None, None, None, None)


def test_the_best_cell_is_one_that_lost_no_seed() -> None:
    best = number(reading={"take": "final", "of": "best-cell"})
    (row,) = rows(preset(best), with_lost(cell(0.9), diverged=1), cell(0.7, 0.7, hybrid={"ratio": 0.5}))
    assert (row.mean, row.lost) == (pytest.approx(70.0), 0)


def test_a_difference_of_survivors_is_not_taken() -> None:
    difference = number(
        against={"strategy": {"name": "fedswap"}}, reading={"take": "final", "of": "difference"}, unit="points"
    )
    theirs = cell(0.50, 0.52, 0.1, strategy={"name": "fedswap"})
    (row,) = rows(preset(difference), with_lost(cell(0.6, 0.7), diverged=1), theirs)
    assert (row.mean, row.lost, row.reason) == (None, 1, SEEDS_LOST)
