"""What many ask for at the same moment is computed for all of them together."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Event, Lock
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class Turn:
    """One computation, and all who wait for it."""

    def __init__(self) -> None:
        self.done = Event()
        self.answer: Any = None
        self.error: BaseException | None = None


lock = Lock()
current: dict[Hashable, Turn] = {}
following: dict[Hashable, Turn] = {}


def compute_once(key: Hashable, compute: Callable[[], Answer]) -> Answer:
    """The answer of a computation that began after this call, shared with everyone who asked before it began.

    Nothing is kept, and nobody sees what was read before he asked: whoever comes while one is at work waits for the
    next.
    """
    with lock:
        turn = following.get(key)
        before = current.get(key) if turn is None else None
        leads = turn is None
        if turn is None:
            turn = following[key] = Turn()
    if leads:
        if before:
            before.done.wait()
        lead(key, turn, compute)
    else:
        turn.done.wait()
    if turn.error:
        raise turn.error
    answer: Answer = turn.answer
    return answer


def lead(key: Hashable, turn: Turn, compute: Callable[[], Any]) -> None:
    with lock:
        del following[key]
        current[key] = turn
    try:
        turn.answer = compute()
    except BaseException as error:
        turn.error = error
    finally:
        with lock:
            if current.get(key) is turn:
                del current[key]
        turn.done.set()
