"""What many ask for at once is computed for all together, and never from what was there before somebody asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from experiments.core import shared_computation
from experiments.core.shared_computation import compute_once


def wait_for_followers(number: int) -> None:
    """Until so many wait for the next turn; who leads it counts."""
    while not shared_computation.following and number:
        pass


def test_it_computes_for_whoever_asks_and_keeps_nothing() -> None:
    numbers = iter(range(9))
    assert [compute_once("a", lambda: next(numbers)) for _ in range(3)] == [0, 1, 2]
    assert (shared_computation.current, shared_computation.following) == ({}, {})


def test_those_who_come_while_one_is_at_work_share_the_next() -> None:
    begun, go_on, computed = Event(), Event(), []

    def compute() -> int:
        computed.append(1)
        number = len(computed)
        begun.set()
        go_on.wait(30)
        return number

    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(compute_once, "a", compute)
        begun.wait(30)
        others = [pool.submit(compute_once, "a", compute) for _ in range(8)]
        elsewhere = compute_once("b", lambda: 7)
        wait_for_followers(1)
        go_on.set()
        answers = [other.result(30) for other in others]
    assert (first.result(), elsewhere) == (1, 7)
    assert min(answers) == 2
    assert len(computed) == max(answers) < 9


def test_an_error_is_everyones_and_the_next_one_tries_again() -> None:
    with pytest.raises(ZeroDivisionError):
        compute_once("a", lambda: 1 // 0)
    assert compute_once("a", lambda: 1) == 1
