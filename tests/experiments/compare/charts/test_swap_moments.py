from __future__ import annotations

from experiments.charts.styles import CellStyle, LineStyle
from experiments.compare.charts.curves import compare_curves_info
from experiments.compare.charts.swap_moments import SwapMoments, swap_moment_marks, swap_moments, swap_moments_note
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import SeedStatistics


def test_a_swapping_strategys_moments_follow_from_h1_and_h2() -> None:
    """h1 = 2, h2 = 2: steps 0, 4, 8 average and steps 2, 6 swap; a round is a step plus one."""
    assert swap_moments({"name": "fedswap", "h1": 2, "h2": 2}, 9) == SwapMoments(swaps=(3, 7), averages=(1, 5, 9))
    assert swap_moments({"name": "fedavg", "every": 2}, 9) is None


def test_the_moments_are_marked_on_the_line() -> None:
    points = [SeedStatistics("a", number, number / 10, None, None, None, 1, 0) for number in range(5)]
    styles = {"a": CellStyle(LineStyle("fedswap", 3, "solid"), "", "")}
    info = compare_curves_info(points, styles, metric_label("accuracy"))
    swap, average = swap_moment_marks(info, {"fedswap": SwapMoments((2, 4), (1, 3))})

    assert (swap["x"], swap["y"], swap["marker"]["symbol"]) == ([2, 4], [20.0, 40.0], "triangle-up-open")
    assert (average["x"], average["meta"]) == ([1, 3], {"hue": 3})


def test_marks_that_would_hide_their_line_are_left_out() -> None:
    many = {"fedswap": SwapMoments(tuple(range(41)), (1,))}
    assert swap_moments_note(many).endswith("(kinds with more than 40 moments are not marked)")
