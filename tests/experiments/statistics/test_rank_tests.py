from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from experiments.statistics.rank_tests import (
    SignedRanks,
    friedman,
    holm,
    midranks,
    settings_needed,
    signed_ranks,
    smallest_p,
)


def test_equal_values_share_their_ranks() -> None:
    assert midranks([3.0, 1.0, 3.0, 2.0]).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_five_differences_of_one_sign_cannot_reach_five_percent() -> None:
    assert signed_ranks([1.0, 2.0, 3.0, 4.0, 5.0]) == SignedRanks(5, 0.0, 0.0625, positive=True)
    assert smallest_p(5) == 0.0625
    assert smallest_p(6) == 0.03125


def test_signed_ranks_by_hand() -> None:
    # Ranks of 1, 2, 3 are 1, 2, 3; the negative one has rank 1. Of 8 signs, sums 0 and 1 occur once each: 2 * 2/8.
    assert signed_ranks([-1.0, 2.0, 3.0]) == SignedRanks(3, 1.0, 0.5, positive=True)


def test_zeros_are_left_out_and_nothing_but_zeros_is_no_test() -> None:
    assert signed_ranks([0.0, -1.0, 2.0, 3.0]) == SignedRanks(3, 1.0, 0.5, positive=True)
    assert signed_ranks([0.0, 0.0]) is None


def test_its_p_is_scipys_exact_one_even_with_ties() -> None:
    differences = [0.5, 1.5, -0.5, 2.0, 2.0, 3.0, -1.0, 4.0]
    expected = stats.wilcoxon(differences, method=stats.PermutationMethod(n_resamples=10**6))
    found = signed_ranks(differences)
    assert found is not None
    assert (found.statistic, found.p) == (expected.statistic, pytest.approx(expected.pvalue))


def test_friedman_is_scipys_with_ties() -> None:
    rows = np.round(np.random.default_rng(3).normal(size=(7, 4)), 0)
    expected = stats.friedmanchisquare(*rows.T)
    found = friedman(rows.tolist(), higher=False)
    assert found is not None
    assert (found.settings, found.methods) == (7, 4)
    assert (found.statistic, found.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


def test_friedman_gives_the_best_rank_one_whichever_way_is_better() -> None:
    rows = [[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]]
    up, down = friedman(rows, higher=True), friedman(rows, higher=False)
    assert up is not None
    assert down is not None
    assert (up.mean_ranks, down.mean_ranks) == ((1.0, 2.0, 3.0), (3.0, 2.0, 1.0))
    # Rank sums 2, 4 and 6 over 2 settings: 12 / (2 * 3 * 4) * (4 + 16 + 36) - 3 * 2 * 4 = 4.
    assert up.statistic == pytest.approx(4.0)


def test_friedman_needs_three_methods_two_settings_and_a_difference() -> None:
    assert friedman([[1.0, 2.0], [1.0, 2.0]], higher=True) is None
    assert friedman([[1.0, 2.0, 3.0]], higher=True) is None
    assert friedman([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], higher=True) is None


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04; never below the one before, never above 1.
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_more_comparisons_need_more_settings() -> None:
    assert [settings_needed(comparisons) for comparisons in (1, 3, 6, 28)] == [6, 7, 8, 11]
