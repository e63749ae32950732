"""Work beside the thread that waits for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Answer = TypeVar("Answer")


def in_background(work: Callable[[], Answer]) -> Future[Answer]:
    """In a thread that does not keep the process from ending."""
    answer: Future[Answer] = Future()

    def carry_out() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=carry_out, name="background", daemon=True).start()
    return answer
