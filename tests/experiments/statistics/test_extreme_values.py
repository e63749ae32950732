"""Every finite double is safe, in arrays, in Python and in SQL: against exact fractions, and on every page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st

from experiments.export.columns import read_run_columns
from experiments.export.tables.summaries import summary_table
from experiments.models import Run, Study, User
from experiments.results.selectors.costs import cumulated_costs, run_costs
from experiments.results.selectors.summaries import study_summary
from experiments.statistics.curves import curve_statistics, runs_by_cell
from experiments.statistics.over_seeds import exact_sum, mean_and_std, over_seeds
from experiments.statistics.sums import safe_sum
from tests.experiments import lab

LARGEST = 1.7976931348623157e308
EXTREMES = [1e308, -1e308, LARGEST, -LARGEST, 1e200, 1e154, -1e154, 5e-324, -5e-324, 1e-160, 0.0, 1.0, 0.1]
doubles = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(EXTREMES))
groups_of_doubles = st.lists(st.lists(doubles, min_size=1, max_size=6), min_size=1, max_size=5)


def as_double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exact_mean(values: Sequence[float]) -> float:
    return as_double(sum(map(Fraction, values), Fraction()) / len(values))


def exact_std(values: Sequence[float]) -> float:
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    variance = sum(((value - mean) ** 2 for value in exact), Fraction()) / (len(exact) - 1)
    digits = Context(prec=60, Emax=10**6, Emin=-(10**6))
    return float(digits.sqrt(digits.divide(Decimal(variance.numerator), Decimal(variance.denominator))))


def near(exact: float, values: Sequence[float]) -> Any:
    """To the last digits of the largest of them; one step is the least that a double can be off."""
    largest = max(map(abs, values))
    return pytest.approx(exact, rel=1e-15, abs=max(4 * largest * 2.0**-53, 5e-324))


@given(groups_of_doubles)
@example([[LARGEST, LARGEST, LARGEST], [LARGEST, -LARGEST], [5e-324, 1e-323, 0.0], [1e308, 5e-324], [1e200, 2e200]])
def test_whole_columns_have_the_mean_and_deviation_of_exact_fractions(groups: list[list[float]]) -> None:
    places = np.repeat(np.arange(len(groups)), [len(values) for values in groups])
    seeds = np.concatenate([np.arange(len(values)) for values in groups])
    columns = over_seeds(places, seeds, np.concatenate(groups), np.zeros(len(places), bool))
    for values, mean, std, low, high, n in zip(
        groups, columns.mean, columns.std, columns.low, columns.high, columns.n, strict=True
    ):
        assert (low, high, n) == (min(values), max(values), len(values))
        assert mean == near(exact_mean(values), values)
        assert math.isnan(std) if n == 1 else std == near(exact_std(values), values)


@given(st.lists(doubles, min_size=2, max_size=6))
@example([LARGEST, -LARGEST])
@example([1e154, 2e154, 4e154])
@example([5e-324, 1e-323])
def test_a_sample_has_the_mean_and_deviation_of_exact_fractions(values: list[float]) -> None:
    mean, std = mean_and_std(values)
    assert mean == near(exact_mean(values), values)
    assert std == near(exact_std(values), values)


@given(st.lists(doubles, min_size=1, max_size=6))
def test_runs_of_one_seed_are_merged_into_their_mean_whatever_their_size(values: list[float]) -> None:
    same = np.zeros(len(values), int)
    columns = over_seeds(same, same, np.array(values), np.zeros(len(values), bool))
    assert (columns.n.tolist(), columns.lost.tolist()) == ([1], [0])
    assert columns.mean[0] == near(exact_mean(values), values)


@given(st.lists(doubles, max_size=6))
@example([1e308, 1e308])
@example([1e308, 1e308, -1e308])
def test_a_sum_is_exact_or_infinite(values: list[float]) -> None:
    exact = as_double(sum(map(Fraction, values), Fraction()))
    assert exact_sum(values) == (near(exact, values) if values else 0.0)


def test_ordinary_numbers_are_right_to_the_last_digit() -> None:
    values = np.random.default_rng(1).normal(size=(200, 5))
    places = np.repeat(np.arange(200), 5)
    columns = over_seeds(places, np.tile(np.arange(5), 200), values.ravel(), np.zeros(1000, bool))
    for row, mean, std in zip(values.tolist(), columns.mean, columns.std, strict=True):
        assert abs(mean - exact_mean(row)) <= math.ulp(mean)
        assert abs(std - exact_std(row)) <= math.ulp(std)


SUMS: list[tuple[list[float], float | None]] = [
    ([], None),
    ([0.1, 0.2, 0.3], 0.1 + 0.2 + 0.3),
    ([1e308, 1e308], math.inf),
    ([-1e308, -1e308], -math.inf),
    ([1e308, 1e308, -1e308], 1e308),
    ([1e308, 5e-324], 1e308),
    ([9e307, 8e307, 5e289, 5e289], 1.7e308),
    ([5e-324, 5e-324], 1e-323),
    ([math.inf, 1.0], math.inf),
    ([1e308, 1e308, -math.inf], -math.inf),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("values", "total"), SUMS)
def test_postgresql_adds_what_it_would_refuse(values: list[float], total: float | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {safe_sum('v')} FROM unnest(%s::float8[]) AS v", [values])
        (answer,) = cursor.fetchone()
    assert answer == (None if total is None else pytest.approx(total, rel=1e-15))


@pytest.mark.django_db
def test_postgresql_adds_what_is_not_a_number() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {safe_sum('v')} FROM unnest(ARRAY['NaN', 1, 1e308, 1e308]::float8[]) AS v")
        assert math.isnan(cursor.fetchone()[0])


@pytest.fixture
def diverging(owner: User) -> Study:
    """Losses on their way to infinity, beyond what PostgreSQL's averages take."""
    study = lab.launched(owner)
    for seed, run in enumerate(lab.runs_in_order(study)):
        losses = [2.0, 1e200 * (seed + 1), 1.5e308 if seed % 2 else -1.5e308]
        costs = [0.0, 1.7e308, 1.7e308]
        lab.record(run, {"loss": losses, "accuracy": [0.1, 0.1, 0.1], "bytes_up": costs, "seconds": costs})
    return study


def test_a_curve_goes_on_where_squares_would_overflow(diverging: Study) -> None:
    (first, *_) = lab.runs_in_order(diverging)
    cells = runs_by_cell(studies=[diverging.pk], cells=[first.cell])
    _, second, third = curve_statistics(cells=cells, metric="loss")
    # 1, 2 and 3 times 1e200: mean 2, squared deviations 1 + 0 + 1, over n - 1 = 2 that is 1.
    assert (second.mean, second.std) == (pytest.approx(2e200), pytest.approx(1e200))
    # -1.5, 1.5 and -1.5 times 1e308: mean -0.5, squared deviations 1 + 4 + 1, over 2 that is 3; 1.73e308 is a double.
    assert (third.mean, third.std) == (pytest.approx(-5e307), pytest.approx(math.sqrt(3) * 1e308))


def test_a_deviation_beyond_the_largest_double_is_infinite(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))[:2]
    for run, loss in zip(runs, (LARGEST, -LARGEST), strict=True):
        lab.record(run, {"loss": [loss]})
    (point,) = curve_statistics(cells={runs[0].cell: [run.pk for run in runs]}, metric="loss")
    assert (point.mean, point.std, point.n) == (0.0, math.inf, 2)


def test_infinite_numbers_leave_as_json_can_have_them(as_owner: Client, owner: User) -> None:
    study = lab.launched(owner, seeds=2)
    for run, loss in zip(lab.runs_in_order(study), (LARGEST, -LARGEST, 1.0, 2.0), strict=True):
        lab.record(run, {"loss": [loss]})
    answer = as_owner.get(f"/api/v1/studies/{study.pk}/summary?metric=loss")
    assert (answer.status_code, answer.json()["rows"][0]["std"]) == (200, "Infinity")
    assert "± inf" in as_owner.get(f"/studies/{study.pk}").content.decode()
    assert "± inf" in as_owner.get(f"/compare?study={study.pk}&metric=loss").content.decode()


COMPARE = ("curves", "against", "map", "table", "difference", "cost-bytes", "cost-seconds")
CHOICES = ("", "&value=last&last=2", "&value=best", "&value=rounds&target=1e300", "&value=bytes&target=1e300")


@pytest.mark.parametrize("choice", [*CHOICES, "&band=boot", "&band=ci", "&x=bytes"])
@pytest.mark.parametrize("chart", COMPARE)
def test_compare_shows_a_diverging_study(as_owner: Client, diverging: Study, chart: str, choice: str) -> None:
    query = f"study={diverging.pk}&metric=loss&against=strategy&second=strategy.mu{choice}"
    assert as_owner.get(f"/compare/charts/{chart}?{query}").status_code == 200
    assert b"Infinity" not in as_owner.get(f"/compare/charts/{chart}?{query}").content  # is no JSON
    assert as_owner.get(f"/compare/charts/{chart}.csv?{query}").status_code == 200
    assert as_owner.get(f"/api/v1/compare/{chart}?{query}").status_code == 200


@pytest.mark.parametrize("tab", ["overview", "better", "cost", "clients", "specs"])
def test_every_tab_of_compare_opens_on_a_diverging_study(as_owner: Client, diverging: Study, tab: str) -> None:
    assert as_owner.get(f"/compare?study={diverging.pk}&metric=loss&tab={tab}").status_code == 200
    for kind in ("tex", "md"):
        assert as_owner.get(f"/compare/tables/values.{kind}?study={diverging.pk}&metric=loss").status_code == 200


def test_every_page_of_a_diverging_study_opens(as_owner: Client, diverging: Study) -> None:
    run = lab.runs_in_order(diverging)[0]
    for address in (
        "/",
        f"/studies/{diverging.pk}",
        f"/studies/{diverging.pk}/figure?metric=loss",
        f"/studies/{diverging.pk}/displays",
        f"/studies/{diverging.pk}/displays/charts/traffic",
        f"/runs/{run.pk}",
        f"/runs/{run.pk}/figure?metric=loss",
        f"/runs/{run.pk}/costs/figure?kind=traffic",
        f"/api/v1/studies/{diverging.pk}/summary?metric=loss",
        f"/api/v1/studies/{diverging.pk}/summary?metric=loss&rounds=1,2",
    ):
        answer = as_owner.get(address)
        assert (address, answer.status_code) == (address, 200)
        assert b"Infinity," not in answer.content


def test_an_export_and_a_summary_hold_a_diverging_study(diverging: Study) -> None:
    table = summary_table(read_run_columns(Run.objects.all()), ["loss"])
    rows = [row for batch in table.batches for row in batch.to_pylist() if row["round"] == 1]
    assert sorted((row["mean"], row["std"], row["n"]) for row in rows) == [
        (pytest.approx(2e200), pytest.approx(1e200), 3),
        (pytest.approx(5e200), pytest.approx(1e200), 3),
    ]
    first = study_summary(study=diverging.pk, metric="loss", rounds=[1]).rows[0]
    assert (first.mean, first.std) == (pytest.approx(2e200), pytest.approx(1e200))


def test_costs_beyond_the_largest_double_are_infinite(diverging: Study) -> None:
    run = lab.runs_in_order(diverging)[0]
    assert [(cost.name, cost.total, cost.rounds) for cost in run_costs(run=run.pk)] == [
        ("bytes_up", math.inf, 3),
        ("seconds", math.inf, 3),
    ]
    assert cumulated_costs(run=run.pk, names=("seconds",)) == {"seconds": [(0, 0.0), (1, 1.7e308), (2, math.inf)]}


def test_a_study_can_be_launched_beside_runs_of_endless_time(as_owner: Client, diverging: Study) -> None:
    body = {"name": "Next", "blocks": [lab.BLOCK]}
    answer = as_owner.post("/api/v1/studies?dry_run=true", body, content_type="application/json")
    assert answer.status_code == 200
