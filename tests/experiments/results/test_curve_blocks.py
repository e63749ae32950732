"""Curves in blocks of 64 rounds: every number as it was told, wherever it falls, however often it is told."""

import math
import struct
from collections.abc import Mapping

import numpy as np
import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.models import CurveBlock, Metric, Run, User
from experiments.results.services.curves import curves_forget, curves_record, insert_from_rows, values_write
from experiments.statistics.curves import read_values
from experiments.statistics.stored_numbers import decode_numbers
from tests.experiments.lab import launched, runs_in_order

pytestmark = pytest.mark.django_db
Told = dict[tuple[int, str], float]


def bits(value: float) -> str:
    """NaN is NaN; 0 and -0 are two numbers."""
    return "nan" if math.isnan(value) else struct.pack(">d", value).hex()


def read_back(run: int) -> Told:
    """By the view and by numpy, which must agree."""
    rows = Metric.objects.filter(run=run).values_list("round", "name", "value")
    values = {(number, name): value for number, name, value in rows}
    assert len(values) == len(rows)
    for name in {name for _, name in values}:
        runs, rounds, numbers = read_values([run], [name])
        assert set(runs.tolist()) == {run}
        decoded = dict(zip(rounds.tolist(), map(bits, numbers.tolist()), strict=True))
        assert decoded == {number: bits(value) for (number, other), value in values.items() if other == name}
    return values


def as_bits(told: Mapping[tuple[int, str], float]) -> dict[tuple[int, str], str]:
    return {key: bits(value) for key, value in told.items()}


@pytest.fixture
def run(owner: User) -> Run:
    return runs_in_order(launched(owner, seeds=1, strategy={"name": "fedavg"}))[0]


def stored_arrays(run: Run) -> list[tuple[str, int, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, block, numbers::text FROM experiments_curveblock WHERE run_id = %s ORDER BY 1, 2", [run.pk]
        )
        return list(cursor.fetchall())


def test_a_block_is_one_row_that_begins_with_its_first_round(run: Run) -> None:
    curves_record(run=run.pk, rounds=[(5, {"loss": 0.5}), (6, {"loss": 0.25}), (8, {"loss": 0.125})])
    assert stored_arrays(run) == [("loss", 0, "[5:8]={0.5,0.25,NULL,0.125}")]
    curves_record(run=run.pk, rounds=[(63, {"loss": 3.0}), (64, {"loss": 4.0}), (130, {"loss": 5.0})])
    arrays = stored_arrays(run)
    assert [(name, block) for name, block, _ in arrays] == [("loss", 0), ("loss", 1), ("loss", 2)]
    assert [text for _, _, text in arrays[1:]] == ["[64:64]={4}", "[130:130]={5}"]
    assert read_back(run.pk) == {
        (5, "loss"): 0.5,
        (6, "loss"): 0.25,
        (8, "loss"): 0.125,
        (63, "loss"): 3.0,
        (64, "loss"): 4.0,
        (130, "loss"): 5.0,
    }


def test_what_is_told_again_replaces_it_and_what_is_left_out_stays(run: Run) -> None:
    curves_record(run=run.pk, rounds=[(2, {"loss": 2.0}), (3, {"loss": 3.0, "f1": 0.3}), (4, {"loss": 4.0})])
    curves_record(run=run.pk, rounds=[(1, {"loss": -1.0}), (4, {"loss": -4.0})])
    assert read_back(run.pk) == {
        (1, "loss"): -1.0,
        (2, "loss"): 2.0,
        (3, "loss"): 3.0,
        (4, "loss"): -4.0,
        (3, "f1"): 0.3,
    }


def test_numbers_that_are_none_and_numbers_at_the_edge_are_kept_to_the_bit(run: Run) -> None:
    edge = [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 2**53 + 1.0]
    curves_record(run=run.pk, rounds=[(number, {"loss": value}) for number, value in enumerate(edge)])
    assert as_bits(read_back(run.pk)) == {(number, "loss"): bits(value) for number, value in enumerate(edge)}


def test_blocks_are_made_of_rows_in_sql_too(run: Run) -> None:
    rows = """
        SELECT %s AS run_id, round, name, value FROM unnest(ARRAY[3, 1, 64], ARRAY['loss', 'loss', 'f1'],
            ARRAY[0.5, 'NaN', 1]::float8[]) AS told (round, name, value)
    """
    with connection.cursor() as cursor:
        cursor.execute(insert_from_rows(rows), [run.pk])
    assert stored_arrays(run) == [("f1", 1, "[64:64]={1}"), ("loss", 0, "{NaN,NULL,0.5}")]


def test_no_array_can_stand_where_its_rounds_do_not_belong(run: Run) -> None:
    for block, numbers in [(0, [0.5]), (1, [0.5, 0.5]), (0, []), (-1, [0.5])]:
        with pytest.raises(IntegrityError), transaction.atomic():
            CurveBlock.objects.create(run=run, name="loss", block=block, numbers=[None, *numbers] if block else [])


def test_a_run_that_forgets_has_no_curve_and_a_deleted_one_neither(run: Run) -> None:
    other = launched(User.objects.get(username="owner"), seeds=[7], strategy={"name": "fedavg"}).runs.get()
    for each in (run, other):
        curves_record(run=each.pk, rounds=[(0, {"loss": 1.0})])
    curves_forget(run=run.pk)
    assert set(Metric.objects.values_list("run_id", flat=True)) == {other.pk}
    Run.objects.filter(pk=other.pk).delete()
    assert not CurveBlock.objects.exists()


def test_nothing_at_all_is_decoded_to_nothing() -> None:
    decoded = decode_numbers(b"", np.array([], np.int64))
    assert [len(column) for column in decoded] == [0, 0, 0]


transactions = st.lists(
    st.dictionaries(
        st.tuples(st.sampled_from([0, 1, 2, 31, 62, 63, 64, 65, 127, 128, 1_000_000]), st.sampled_from(["a", "b.c"])),
        st.floats(),
        min_size=1,
    ),
    max_size=6,
)


@given(told=transactions)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_told_in_whatever_order_the_last_word_counts(run: Run, told: list[Told]) -> None:
    curves_forget(run=run.pk)
    expected: Told = {}
    for rounds in told:
        values_write((run.pk, number, name, value) for (number, name), value in rounds.items())
        expected |= rounds
    assert as_bits(read_back(run.pk)) == as_bits(expected)
