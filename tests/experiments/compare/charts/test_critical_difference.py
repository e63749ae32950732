"""Mean ranks and groups, with numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.compare.charts.critical_difference import (
    CriticalDifferenceInfo,
    RankedMethod,
    critical_difference_description,
    critical_difference_figure,
    critical_difference_info,
    critical_difference_notes,
    critical_difference_table,
    groups_alike,
)
from experiments.compare.charts.significance import SignificanceInfo, significance_info
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample

ACCURACY = metric_label("accuracy")


def compared(*columns: list[float]) -> SignificanceInfo:
    """Method A, B, C, ...: its accuracy in setting 0, 1, 2, ..., with one seed each."""
    names = "ABCDEF"[: len(columns)]
    cells = {
        f"{name}{place}": value
        for name, column in zip(names, columns, strict=True)
        for place, value in enumerate(column)
    }
    axes = {"strategy": {cell: cell[0] for cell in cells}, "clients": {cell: cell[1:] for cell in cells}}
    return significance_info(
        list(cells), axes, {cell: Sample({0: value}) for cell, value in cells.items()}, ACCURACY, "strategy"
    )


def info_of(*columns: list[float]) -> CriticalDifferenceInfo:
    info = critical_difference_info(compared(*columns))
    assert info is not None
    return info


BEST = [0.90 + place / 1000 for place in range(8)]
MIDDLE = [0.80 + place / 500 for place in range(8)]
WORST = [0.70 + place / 250 for place in range(8)]


def test_methods_that_always_come_in_one_order_are_all_told_apart() -> None:
    """Eight settings, always A before B before C: ranks 1, 2, 3. Each pair has p = 2 / 2^8 = 0.0078, after Holm at most
    3 x 0.0078 = 0.023. Friedman: chi² = 12 / (8 x 3 x 4) x (8² + 16² + 24²) - 3 x 8 x 4 = 16, p = exp(-8)."""
    info = info_of(MIDDLE, BEST, WORST)
    assert info.methods == (RankedMethod("B", 1.0), RankedMethod("A", 2.0), RankedMethod("C", 3.0))
    assert info.groups == ()
    assert info.settings == 8
    assert info.p == pytest.approx(0.00033546, rel=1e-4)


def test_methods_that_change_places_are_joined() -> None:
    """B and C are second four times each: ranks 2.5, and signed ranks of four against four differences cancel."""
    middle = [0.8, 0.6, 0.8, 0.6, 0.8, 0.6, 0.8, 0.6]
    other = [0.7] * 8
    info = info_of(BEST, middle, other)
    assert info.methods == (RankedMethod("A", 1.0), RankedMethod("B", 2.5), RankedMethod("C", 2.5))
    assert info.groups == (("B", "C"),)


def test_nobody_is_told_apart_where_friedman_shows_nothing() -> None:
    """Three settings in which places go round: every mean rank is 2."""
    info = info_of([0.9, 0.8, 0.7], [0.8, 0.7, 0.9], [0.7, 0.9, 0.8])
    assert [method.rank for method in info.methods] == [2.0, 2.0, 2.0]
    assert info.p == pytest.approx(1.0)
    assert info.groups == (("A", "B", "C"),)


def test_groups_are_as_long_as_possible_and_may_overlap() -> None:
    assert groups_alike("ABCD", {frozenset("AC"), frozenset("AD"), frozenset("BD")}) == (
        ("A", "B"),
        ("B", "C"),
        ("C", "D"),
    )
    assert groups_alike("ABCD", {frozenset("AD")}) == (("A", "B", "C"), ("B", "C", "D"))
    assert groups_alike("ABC", {frozenset("AC"), frozenset("AB"), frozenset("BC")}) == ()
    # A pair between whom somebody stands who differs from one of them is under no bar.
    assert groups_alike("ABC", {frozenset("AB")}) == (("B", "C"),)


def test_two_methods_or_one_setting_have_no_diagram() -> None:
    assert critical_difference_info(compared(BEST, WORST)) is None
    assert critical_difference_info(compared([0.9], [0.8], [0.7])) is None


def test_lower_is_better_of_a_loss() -> None:
    cells = {f"{name}{place}": rank for rank, name in enumerate("ABC") for place in range(8)}
    axes = {"strategy": {cell: cell[0] for cell in cells}, "clients": {cell: cell[1:] for cell in cells}}
    samples = {cell: Sample({0: float(value)}) for cell, value in cells.items()}
    info = critical_difference_info(significance_info(list(cells), axes, samples, metric_label("loss"), "strategy"))
    assert info is not None
    assert [method.name for method in info.methods] == ["A", "B", "C"]


EXAMPLE = CriticalDifferenceInfo(
    ACCURACY,
    (RankedMethod("FedAvg", 1.25), RankedMethod("FedProx", 1.75), RankedMethod("SCAFFOLD", 3.0)),
    (("FedAvg", "FedProx"),),
    8,
    0.001,
)


def test_the_figure_has_a_line_for_each_method_and_a_bar_for_each_group() -> None:
    """The axis from 1 to 3 has 0.24 more on each side; names go down by 0.6 at the left, up again at the right."""
    figure = critical_difference_figure(EXAMPLE)
    *leaders, bar = figure["data"]
    assert [(line["x"], line["y"]) for line in leaders] == [
        ([1.25, 1.25, 0.76], [0, pytest.approx(-0.86), pytest.approx(-0.86)]),
        ([1.75, 1.75, 0.76], [0, pytest.approx(-1.46), pytest.approx(-1.46)]),
        ([3.0, 3.0, 3.24], [0, pytest.approx(-0.86), pytest.approx(-0.86)]),
    ]
    assert (bar["x"], bar["y"]) == ([1.21, 1.79], [-0.28, -0.28])
    assert [(each["text"], each["xanchor"]) for each in figure["layout"]["annotations"]] == [
        ("FedAvg (1.25)", "right"),
        ("FedProx (1.75)", "right"),
        ("SCAFFOLD (3.00)", "left"),
    ]


def test_on_a_narrow_screen_each_method_has_a_row_below_its_name() -> None:
    """Below one bar at 0.28 the first row is at 0.56 + 0.6, the next 0.6 lower."""
    figure = critical_difference_figure(EXAMPLE, narrow=True)
    *marks, bar = figure["data"]
    assert [(mark["x"], mark["y"]) for mark in marks] == [
        ([1.25], [pytest.approx(-1.16)]),
        ([1.75], [pytest.approx(-1.76)]),
        ([3.0], [pytest.approx(-2.36)]),
    ]
    assert (bar["x"], bar["y"]) == ([1.21, 1.79], [-0.28, -0.28])
    names = figure["layout"]["annotations"]
    assert [(each["text"], each["xref"], each["x"]) for each in names] == [
        ("FedAvg (1.25)", "paper", 0),
        ("FedProx (1.75)", "paper", 0),
        ("SCAFFOLD (3.00)", "paper", 0),
    ]
    assert [each["y"] for each in names] == [mark["y"][0] for mark in marks]


def test_it_is_told_in_words_and_numbers() -> None:
    assert critical_difference_description(EXAMPLE) == (
        "Test accuracy, %: mean ranks over 8 settings, best first: FedAvg 1.25, FedProx 1.75, SCAFFOLD 3.00. "
        "Cannot be told apart: FedAvg, FedProx."
    )
    assert critical_difference_notes(EXAMPLE) == (
        "Friedman: the 3 differ over 8 settings (p = 0.001) · bars join methods that cannot be told apart "
        "(exact Wilcoxon signed-rank test on cell means, p ≥ 0.05 after Holm)"
    )
    assert critical_difference_notes(replace(EXAMPLE, settings=6)).endswith(
        "with so many pairs at least 7 settings are needed to tell two apart"
    )
    assert critical_difference_table(EXAMPLE).rows == (
        ("FedAvg", 1.25, "1"),
        ("FedProx", 1.75, "1"),
        ("SCAFFOLD", 3.0, ""),
    )
