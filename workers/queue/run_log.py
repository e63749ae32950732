"""A run's log: what the worker and the run's libraries say, in a file of the run's folder."""

from __future__ import annotations

import logging
from pathlib import Path
from types import TracebackType
from typing import TextIO

from workers.home import log_file

MOST_BYTES = 20_000_000
FULL = f"(The log is full: {MOST_BYTES // 1_000_000} MB. What follows is not kept.)"
logger = logging.getLogger(__name__)


class RunLog:
    """What a run and its libraries say, line by line. A full disk costs lines, never the run; so does a long log."""

    def __init__(self, run: int, path: Path | None = None) -> None:
        self.run, self.path = run, path or log_file(run)
        self.file: TextIO | None = None
        self.complained = False
        self.size = 0

    def __enter__(self) -> RunLog:
        self.open()
        return self

    def open(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = self.path.open("a", encoding="utf-8", buffering=1)
            self.size = self.path.stat().st_size
        except OSError as error:
            self.complain(error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            if self.file:
                self.file.close()
        except OSError as unwritten:
            self.complain(unwritten)

    def write(self, text: str) -> None:
        if self.size > MOST_BYTES:
            return
        self.size += len(text) + 1
        try:
            if self.file:
                self.file.write(f"{text}\n" if self.size <= MOST_BYTES else f"{FULL}\n")
        except OSError as error:
            self.complain(error)

    def complain(self, error: OSError) -> None:
        if not self.complained:
            self.complained = True
            logger.warning("The log of run %s is not complete: %s", self.run, error)
