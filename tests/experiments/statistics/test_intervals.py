from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from experiments.statistics.intervals import (
    Difference,
    SeedWins,
    bootstrap_intervals,
    paired_difference,
    seed_wins,
    t_half_width,
)
from experiments.statistics.over_seeds import Sample


def test_a_sample_has_mean_and_sample_std() -> None:
    sample = Sample({0: 1.0, 1: 2.0, 7: 6.0})
    # Squared deviations 4 + 1 + 9 = 14, over n - 1 = 2 that is 7.
    assert (sample.n, sample.mean, sample.std) == (3, 3.0, pytest.approx(math.sqrt(7)))


def test_one_seed_has_no_std_and_none_has_no_mean() -> None:
    assert (Sample({0: 2.5}).mean, Sample({0: 2.5}).std) == (2.5, None)
    assert (Sample({}, frozenset({0, 1})).mean, Sample({}).std) == (None, None)


def test_half_a_t_interval_by_hand() -> None:
    # Two values, one degree of freedom: 12.7062 standard errors; std 2, so the standard error is the root of 2.
    assert t_half_width(2.0, 2) == pytest.approx(12.7062047364 * math.sqrt(2))
    assert t_half_width(None, 1) is None
    assert t_half_width(0.0, 3) == 0.0


def test_differences_are_taken_over_matching_seeds_only() -> None:
    first, second = Sample({0: 5.0, 1: 6.0, 2: 9.0, 3: 100.0}), Sample({2: 7.0, 1: 5.0, 0: 4.0, 9: -50.0})
    # Seeds 0, 1, 2 differ by 1, 1 and 2: mean 4/3, std sqrt(1/3), t(2) = 4.302653.
    half = 4.30265272975 * math.sqrt(1 / 3) / math.sqrt(3)
    found = paired_difference(first, second)
    assert found == Difference(pytest.approx(4 / 3), 3, pytest.approx(4 / 3 - half), pytest.approx(4 / 3 + half))
    assert found is not None
    assert found.verdict == "tie"


def test_its_interval_is_that_of_scipys_paired_test() -> None:
    rng = np.random.default_rng(5)
    one, two = rng.normal(1, 1, 6).tolist(), rng.normal(0, 1, 6).tolist()
    found = paired_difference(Sample(dict(enumerate(one))), Sample(dict(enumerate(two))))
    expected = stats.ttest_rel(one, two).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_it_tells_more_less_tie_and_too_few() -> None:
    low, high = Sample({0: 1.0, 1: 1.1, 2: 0.9}), Sample({0: 5.0, 1: 5.1, 2: 5.0})
    assert [each.verdict for each in (paired_difference(high, low), paired_difference(low, high)) if each] == [
        "more",
        "less",
    ]
    one = paired_difference(Sample({0: 1.0, 1: 2.0}), Sample({1: 5.0, 2: 6.0}))
    assert one == Difference(-3.0, 1)
    assert one is not None
    assert one.verdict == "unknown"
    assert paired_difference(Sample({0: 1.0}), Sample({1: 1.0})) is None


def test_no_difference_is_taken_of_survivors() -> None:
    """Seed 1 is in both cells, and in the first it diverged."""
    first, second = Sample({0: 5.0, 2: 6.0}, diverged=frozenset({1})), Sample({0: 1.0, 1: 1.0, 2: 1.0})
    assert paired_difference(first, second) is None
    assert paired_difference(second, Sample({0: 5.0, 2: 6.0}, missing=frozenset({1}))) is None
    assert seed_wins(first, second, higher=True) == SeedWins((2, 1), (1, 0), (0, 0), 3)
    assert seed_wins(first, second, higher=False) == SeedWins((0, 3), (1, 0), (0, 0), 3)
    assert seed_wins(second, second, higher=True) is None


def test_the_sign_test_by_hand() -> None:
    # Of 2^5 ways 1 + 5 + 10 have at most two; of 2^6 one has none. Twice that is p.
    assert SeedWins((2, 3), (3, 0), (0, 0), 5).p == 1.0
    assert SeedWins((0, 6), (6, 0), (0, 0), 6).p == 0.03125
    assert SeedWins((0, 0), (2, 2), (0, 0), 2).p == 1.0


def test_a_median_counts_lost_seeds_as_the_worst() -> None:
    sample = Sample({0: 1.0, 1: 3.0}, frozenset({2}), frozenset({3}))
    assert (sample.median(higher=True), sample.median(higher=False)) == (-math.inf, math.inf)
    assert Sample({0: 1.0, 1: 3.0}, frozenset({2})).median(higher=True) == 1.0
    assert Sample({0: 1.0, 1: 3.0}, frozenset({2})).median(higher=False) == 3.0
    assert Sample({0: 1.0, 1: 3.0}).median(higher=True) == 2.0


def test_the_bootstrap_of_two_values_is_their_range() -> None:
    # A quarter of all resamples is one value twice: more than 2.5 %.
    assert bootstrap_intervals([[2.0, 4.0], [7.0]]) == [(2.0, 4.0), None]


def test_the_bootstrap_of_three_values_by_hand() -> None:
    # Of 27 resamples one is all three (3.7 %) and one all zero, so the middle 95 % reaches both ends.
    assert bootstrap_intervals([[0.0, 3.0, 9.0]]) == [(0.0, 9.0)]


def test_the_bootstrap_of_few_values_counts_every_resample() -> None:
    # How often the 4 is drawn is binomial (4 draws, 1/4): at most twice with 94.9 %, at most thrice with 99.6 %.
    assert bootstrap_intervals([[0.0, 0.0, 0.0, 4.0]])[0] == (0.0, 3.0)
    assert bootstrap_intervals([[4.0, 4.0, 4.0, 0.0]])[0] == (1.0, 4.0)


def test_the_bootstrap_is_close_to_scipys_and_never_flickers() -> None:
    values = np.random.default_rng(1).normal(0, 1, 20).tolist()
    expected = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(2)
    ).confidence_interval
    (found,) = bootstrap_intervals([values])
    assert found == (pytest.approx(expected.low, abs=0.03), pytest.approx(expected.high, abs=0.03))
    assert bootstrap_intervals([values]) == [found]
