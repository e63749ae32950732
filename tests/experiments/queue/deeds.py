"""What the state machine of `test_state_machine` mixes, and whom it happens to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as some


@dataclass(frozen=True)
class Deed:
    """One thing that may happen: when, and with what."""

    name: str
    possible: Callable[[Any], Any]
    drawn: dict[str, some.SearchStrategy[Any]]


DEEDS: list[Deed] = []
BOUNDS = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
WEIGHTS = {"change": 3, "retry": 3, "claim": 3, "end": 4, "delete": 2}


def deed(possible: Callable[[Any], Any], **drawn: some.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """In place of a rule of its own, of which Hypothesis leaves some out of every example: here the mixture counts."""

    def note(method: Any) -> Any:
        DEEDS.extend([Deed(method.__name__, possible, drawn)] * WEIGHTS.get(method.__name__, 1))
        return method

    return note


def always(_: Any) -> bool:
    return True


def likely(place: int, wanted: list[Any], known: list[Any]) -> Any:
    """Mostly one that something can happen to, and sometimes any."""
    chosen = wanted if wanted and place % 5 else known
    return chosen[place // 5 % len(chosen)]


def refused(error: type[Exception] | None) -> AbstractContextManager[Any]:
    return pytest.raises(error) if error else nullcontext()
