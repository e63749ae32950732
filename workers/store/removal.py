"""What leaves the store, behind whoever asked for it: no page waits for that. What fails is left for the doctor."""

from __future__ import annotations

import logging
from queue import SimpleQueue
from threading import Lock, Thread

from workers.store.store import Store, StoreError, remote_store

logger = logging.getLogger(__name__)
waiting: SimpleQueue[tuple[Store, str]] = SimpleQueue()
starting = Lock()
threads: list[Thread] = []


def remove_later(*keys: str) -> None:
    """In the order in which they were asked for; nothing happens where the store is this home."""
    store = remote_store()
    if store is None:
        return
    for key in keys:
        waiting.put((store, key))
    with starting:
        if not any(thread.is_alive() for thread in threads):
            threads[:] = [Thread(target=remove_what_waits, name="store-removal", daemon=True)]
            threads[0].start()


def remove_what_waits() -> None:
    while True:
        store, key = waiting.get()
        try:
            store.remove(key)
        except StoreError as error:
            logger.warning("%s stays in the store: %s", key, error)
