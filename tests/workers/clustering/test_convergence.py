from __future__ import annotations

import math

import pytest

from workers.clustering.convergence import Effort, bytes_saved, has_converged

DETECTOR, MOBILENET = 551 * 1024 * 10, 13 * 1024**2


def test_a_change_below_the_tolerance_is_convergence() -> None:
    assert has_converged(0.9, 0.9009, 0.001)
    assert has_converged(0.9009, 0.9, 0.001)
    assert not has_converged(0.9, 0.9011, 0.001)


def test_a_change_may_be_a_share_of_what_was_there() -> None:
    assert has_converged(0.5, 0.5004, 0.001, relative=True)
    assert not has_converged(0.5, 0.5006, 0.001, relative=True)
    assert not has_converged(0.0, 0.0, 0.001, relative=True)


def test_nothing_converges_without_tolerance_or_without_an_epoch_before() -> None:
    assert not has_converged(0.9, 0.9, 0.0)
    assert not has_converged(math.nan, 0.9, 0.001)


@pytest.mark.parametrize(
    ("ours", "theirs", "percent"),
    [((7, 5), (23, 10), 62), ((7, 4), (150, 70), 94), ((21, 18), (70, 30), 59.6)],
)
def test_the_worst_case_is_the_published_one(
    ours: tuple[float, float], theirs: tuple[float, float], percent: float
) -> None:
    _, worst = bytes_saved(Effort(*ours, DETECTOR), Effort(*theirs, MOBILENET))

    assert 100 * worst == pytest.approx(percent, abs=0.5)


def test_the_mean_case_has_no_deviations() -> None:
    """Half the epochs at half the bytes."""
    assert bytes_saved(Effort(5, 3, 10), Effort(10, 4, 20))[0] == 0.75
