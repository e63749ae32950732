from __future__ import annotations

import math

import pytest

from experiments.models import Round, Run, User
from experiments.results.selectors.clients import (
    ClientRow,
    client_cohorts,
    client_columns,
    client_history,
    client_rows,
    sort_clients,
)
from tests.experiments import lab


@pytest.fixture
def run(owner: User) -> Run:
    """Three rounds; the shared client is always there, client 2 only in the last one, client 1 evaluates only."""
    run = lab.runs_in_order(lab.launched(owner))[0]
    rounds = [
        (0, [], {"0": {"accuracy": 0.25}, "1": {"accuracy": 0.5}}),
        (1, [-1, 0], {"-1": {"samples": 9}, "0": {"samples": 4, "train_loss": 1.5}}),
        (2, [-1, 2], {"-1": {"samples": 9}, "2": {"samples": 5, "train_loss": "NaN"}, "0": {"accuracy": 0.75}}),
    ]
    Round.objects.bulk_create(Round(run=run, round=n, cohort=cohort, clients=each) for n, cohort, each in rounds)
    return run


def test_each_client_has_its_latest_numbers_and_how_often_it_took_part(run: Run) -> None:
    shared, first, second, third = client_rows(run=run.pk, rounds_done=2)
    assert shared == ClientRow(-1, 2, {"samples": 9.0})
    assert first == ClientRow(0, 1, {"accuracy": 0.75, "samples": 4.0, "train_loss": 1.5})
    assert second == ClientRow(1, 0, {"accuracy": 0.5})
    assert (third.client, third.rounds, third.numbers["samples"]) == (2, 1, 5.0)
    assert math.isnan(third.numbers["train_loss"])


def test_columns_are_the_numbers_that_some_client_has(run: Run) -> None:
    assert client_columns(client_rows(run=run.pk, rounds_done=2)) == ["samples", "accuracy", "train_loss"]


@pytest.mark.parametrize(
    ("by", "clients"),
    [
        ("client", [-1, 0, 1, 2]),
        ("-client", [2, 1, 0, -1]),
        ("rounds", [1, 0, 2, -1]),
        ("accuracy", [1, 0, -1, 2]),
        ("-samples", [-1, 2, 0, 1]),
        ("train_loss", [0, -1, 1, 2]),
    ],
)
def test_clients_are_sorted_and_those_without_the_number_come_last(run: Run, by: str, clients: list[int]) -> None:
    assert [row.client for row in sort_clients(client_rows(run=run.pk, rounds_done=2), by)] == clients


def test_one_number_over_the_rounds(run: Run) -> None:
    assert client_history(run=run.pk, name="accuracy", rounds=[0, 1, 2], clients=[0, 1]) == {
        0: {0: 0.25, 2: 0.75},
        1: {0: 0.5},
    }


def test_who_took_part_when(run: Run) -> None:
    assert client_cohorts(run=run.pk, rounds=[1, 2], clients=[-1, 0, 2]) == {
        -1: {1: 1.0, 2: 1.0},
        0: {1: 1.0, 2: 0.0},
        2: {1: 0.0, 2: 1.0},
    }
