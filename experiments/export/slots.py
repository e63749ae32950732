"""How many exports are sent at once: each holds a connection, a snapshot of the database and some 20 MB."""

from __future__ import annotations

import ctypes
from collections import Counter
from functools import cache
from threading import Lock
from typing import Any

from django.conf import settings

from experiments.core.errors import BusyError

MOST_OF_ONE_PERSON = 2
RETRY_SECONDS = 10


class ExportSlots:
    """Of this process. A quarter of all requests may be exports: pages and REST must find room beside them."""

    def __init__(self, most: int, each: int = MOST_OF_ONE_PERSON) -> None:
        self.most, self.each = most, each
        self.lock = Lock()
        self.taken: Counter[int] = Counter()

    def take(self, person: int) -> None:
        with self.lock:
            if self.taken[person] >= self.each:
                raise BusyError(f"You have {self.each} exports under way. Take them first, or end them.", RETRY_SECONDS)
            if self.taken.total() >= self.most:
                raise BusyError("Too many exports are under way. Try again in a moment.", RETRY_SECONDS)
            self.taken[person] += 1

    def give_back(self, person: int) -> None:
        with self.lock:
            self.taken[person] -= 1
            self.taken += Counter()  # forgets whoever has none


@cache
def export_slots() -> ExportSlots:
    return ExportSlots(max(1, settings.WEB_REQUESTS // 4))


@cache
def c_library() -> Any:
    return ctypes.CDLL(None)


def give_memory_back() -> None:
    """What Arrow and the C library keep for the next time, which may never come."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    if hasattr(c_library(), "malloc_trim"):
        c_library().malloc_trim(0)
