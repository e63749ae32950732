"""How many exports are sent at once: each holds a connection, a snapshot of the database and some 20 MB."""

from __future__ import annotations

import ctypes
import fcntl
import os
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from config.http_limits import web_share
from django.conf import settings

from experiments.core.errors import BusyError

MOST_OF_ONE_PERSON = 2
RETRY_SECONDS = 10


class ExportSlots:
    """A quarter of all requests may be exports: pages and REST must find room beside them.

    `most` is this process's share. What one person has counts for all web processes together: as locked files, which
    the kernel frees however a process ends.
    """

    def __init__(self, most: int, folder: Path, each: int = MOST_OF_ONE_PERSON) -> None:
        self.most, self.folder, self.each = most, folder, each
        self.lock = Lock()
        self.taken: list[tuple[int, int]] = []
        """Persons, and the descriptors of their locked files."""

    def take(self, person: int) -> None:
        with self.lock:
            if len(self.taken) >= self.most:
                raise BusyError("Too many exports are under way. Try again in a moment.", RETRY_SECONDS)
            self.taken.append((person, self.lock_file(person)))

    def lock_file(self, person: int) -> int:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for number in range(self.each):
            descriptor = os.open(self.folder / f"export-{person}-{number}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
            else:
                return descriptor
        raise BusyError(f"You have {self.each} exports under way. Take them first, or end them.", RETRY_SECONDS)

    def give_back(self, person: int) -> None:
        with self.lock:
            slot = next(each for each in self.taken if each[0] == person)
            self.taken.remove(slot)
            os.close(slot[1])


@cache
def export_slots() -> ExportSlots:
    return ExportSlots(max(1, web_share(settings.WEB_REQUESTS) // 4), settings.HOME.make().path / "locks")


@cache
def c_library() -> Any:
    return ctypes.CDLL(None)


def give_memory_back() -> None:
    """What Arrow and the C library keep for the next time, which may never come."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    if hasattr(c_library(), "malloc_trim"):
        c_library().malloc_trim(0)
