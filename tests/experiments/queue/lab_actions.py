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
class LabAction:
    """One thing that may happen: when, and with what."""

    name: str
    possible: Callable[[Any], Any]
    arguments: dict[str, some.SearchStrategy[Any]]


ACTIONS: list[LabAction] = []
BOUNDS = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
WEIGHTS = {"change": 3, "retry": 3, "claim": 3, "end": 4, "delete": 2, "keep_house": 2}


def lab_action(possible: Callable[[Any], Any], **arguments: some.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """In place of a rule of its own, of which Hypothesis leaves some out of every example: here the mixture counts."""

    def register(method: Any) -> Any:
        ACTIONS.extend([LabAction(method.__name__, possible, arguments)] * WEIGHTS.get(method.__name__, 1))
        return method

    return register


def always(_: Any) -> bool:
    return True


def likely(place: int, candidates: list[Any], everything: list[Any]) -> Any:
    """Mostly one that something can happen to, and sometimes any."""
    chosen = candidates if candidates and place % 5 else everything
    return chosen[place // 5 % len(chosen)]


def raises_if(error: type[Exception] | None) -> AbstractContextManager[Any]:
    return pytest.raises(error) if error else nullcontext()
