from __future__ import annotations

import pytest
from scipy import stats

from experiments.statistics.intervals import chi_square_tail, t_quantile


def test_it_has_the_quantiles_of_every_statistics_table() -> None:
    assert [round(t_quantile(n), 3) for n in (2, 3, 4, 5, 10, 31)] == [12.706, 4.303, 3.182, 2.776, 2.262, 2.042]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 20, 101])
def test_its_t_quantile_is_scipys(n: int) -> None:
    assert t_quantile(n) == pytest.approx(stats.t.ppf(0.975, n - 1), rel=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("x", [0.1, 3.84, 25.0])
def test_its_chi_square_is_scipys(x: float, freedom: int) -> None:
    assert chi_square_tail(x, freedom) == pytest.approx(stats.chi2.sf(x, freedom), rel=1e-10)
