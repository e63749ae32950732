"""What goes into the store beside a run, one thing after another, in a thread: computing never waits for it.

A store that is away is tried again and again, a little later each time, until it answers or nobody waits any more.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Thread

from workers.store.store import StoreAwayError, StoreError

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
CLOSING_SECONDS = 300.0
"""So long what is left is tried after the attempt has ended; then retention clears up."""
logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Upload:
    """Of several of one `kind` only the newest is worth anything."""

    kind: str
    carry_out: Callable[[], None]
    drop: Callable[[], None] | None = None
    superseded: bool = False


class Uploads:
    """`problem` is why the latest one has not come to its end."""

    def __init__(self, subject: str) -> None:
        self.subject, self.problem = subject, ""
        self.changed = Condition()
        self.waiting: deque[Upload] = deque()
        self.current: Upload | None = None
        self.closed_at: float | None = None
        self.thread: Thread | None = None

    def add(self, upload: Upload) -> None:
        with self.changed:
            for each in [each for each in self.waiting if each.kind == upload.kind]:
                self.waiting.remove(each)
                if each.drop:
                    each.drop()
            if self.current and self.current.kind == upload.kind:
                self.current.superseded = True
            self.waiting.append(upload)
            self.changed.notify_all()
            if self.thread is None:
                # Not of a pool: one that hangs must not keep the process from ending.
                self.thread = Thread(target=self.work, name="uploads", daemon=True)
                self.thread.start()

    def drop(self, kind: str) -> None:
        """Nobody needs those any more; one that is on its way is not tried again."""
        with self.changed:
            for each in [each for each in self.waiting if each.kind == kind]:
                self.waiting.remove(each)
                if each.drop:
                    each.drop()
            if self.current and self.current.kind == kind:
                self.current.superseded = True
            self.changed.notify_all()

    @property
    def idle(self) -> bool:
        return not self.waiting and self.current is None

    def wait(self, seconds: float) -> bool:
        """Until all is where it belongs; False where that takes longer."""
        with self.changed:
            return self.changed.wait_for(lambda: self.idle, seconds)

    def close(self) -> None:
        """What waits is still carried out."""
        with self.changed:
            self.closed_at = time.monotonic()
            self.changed.notify_all()

    def work(self) -> None:
        while upload := self.next_upload():
            pause = FIRST_PAUSE
            while not self.is_settled(upload):
                with self.changed:
                    if self.changed.wait_for(lambda: upload.superseded or self.is_too_late, pause):
                        break
                pause = min(2 * pause, LONGEST_PAUSE)
            if upload.drop:
                upload.drop()
            with self.changed:
                self.current = None
                self.changed.notify_all()

    @property
    def is_too_late(self) -> bool:
        return self.closed_at is not None and time.monotonic() - self.closed_at > CLOSING_SECONDS

    def next_upload(self) -> Upload | None:
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.closed_at)
            self.current = self.waiting.popleft() if self.waiting else None
            return self.current

    def is_settled(self, upload: Upload) -> bool:
        """Whether it is done, or will never be."""
        try:
            upload.carry_out()
            self.problem = ""
            return True
        except StoreAwayError as error:
            if not self.problem:
                logger.warning("%s: %s It is tried again.", self.subject, error)
            self.problem = str(error)
            return False
        except (StoreError, OSError) as error:
            logger.warning("%s: %s", self.subject, error)
            self.problem = str(error)
            return True
