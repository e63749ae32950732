"""Clients as arrays: made when they are asked for, and not remembered without end."""

from __future__ import annotations

import numpy as np
import pytest

from workers.engine import clients as module
from workers.engine.clients import ClientMapping, Clients


def test_a_client_is_its_number_and_its_part() -> None:
    clients = Clients(np.array([2, 5, 9]), [np.array([4, 0]), np.array([1]), np.array([3, 2])])
    assert [client.index for client in clients] == [2, 5, 9]
    assert [client.train.tolist() for client in clients] == [[4, 0], [1], [3, 2]]
    assert clients.by_number()[9].train.tolist() == [3, 2]
    assert clients[-1].index == 9
    assert [client.index for client in clients[1:]] == [5, 9]


@pytest.mark.parametrize("numbers", [[-1, 0, 3], [0, 3, -1]])
def test_the_shared_client_is_found_first_or_last(numbers: list[int]) -> None:
    clients = Clients(np.array(numbers), [np.array([place]) for place in range(3)])
    by_number = clients.by_number()
    assert {number: by_number[number].train.tolist() for number in (-1, 0, 3)} == {
        number: [place] for place, number in enumerate(numbers)
    }
    assert [number for number in (-1, 0, 3) if by_number[number].shared] == [-1]
    assert clients.own_numbers.tolist() == [0, 3]


def test_a_number_that_nobody_has_is_not_there() -> None:
    by_number = Clients(np.array([0, 3]), [np.array([0]), np.array([1])]).by_number()
    assert [number in by_number for number in (-1, 0, 1, 3, 4)] == [False, True, False, True, False]


def test_something_of_some_clients_lists_only_those() -> None:
    clients = Clients(np.array([0, 3, 7]), [np.arange(each) for each in (2, 3, 4)])
    mapping = ClientMapping(clients, lambda row: int(clients.totals[row]), np.array([True, False, True]))
    assert dict(mapping) == {0: 2, 7: 4}
    assert len(mapping) == 2
    assert 3 not in mapping


def test_nobody_can_change_what_runs_share() -> None:
    clients = Clients(np.arange(2), [np.array([0, 1]), np.array([2])])
    with pytest.raises(ValueError, match="read-only"):
        clients[0].train[0] = 2


def test_a_million_clients_cost_no_objects_but_those_that_were_asked_for() -> None:
    clients = Clients(np.arange(1_000_000), None, totals=np.full(1_000_000, 60))
    assert [len(clients[row].train) for row in (0, 500_000, 999_999)] == [60, 60, 60]
    assert sorted(clients.remembered) == [0, 500_000, 999_999]


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of 36 samples counts 36 + 64 = 100 numbers: three fit into an eighth of 2,400."""
    monkeypatch.setattr(module, "MOST_NUMBERS", 2400)
    clients = Clients(np.arange(10), None, totals=np.full(10, 36))
    sizes = []
    for row in range(7):
        assert clients[row].index == row
        sizes.append(len(clients.remembered))
    assert sizes == [1, 2, 3, 1, 2, 3, 1]
