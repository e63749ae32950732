"""What an app's process may leave behind: processes of its own, and the folder of a Ray that it started."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from time import sleep

import psutil

MARK = "TRIBUTARY_APP_RUN"
"""Set in the environment of an app's process: whatever it starts carries it, and is found by it afterwards."""


MOST_PASSES, PAUSE_SECONDS = 50, 0.02


def clear_leftovers(mark: str) -> None:
    """A process may fork while the list is read, and takes a moment to end: looked for until none is found."""
    for _ in range(MOST_PASSES):
        if not end_marked(mark):
            break
        sleep(PAUSE_SECONDS)
    shutil.rmtree(ray_folder(mark), ignore_errors=True)


def ray_folder(mark: str) -> Path:
    """Short, because Ray puts sockets there, whose paths may have no more than 107 characters."""
    return Path(tempfile.gettempdir()) / f"tributary-ray-{mark[:12]}"


def end_marked(mark: str) -> int:
    """Ends what an app's process left behind, also what it had put into sessions of their own; returns how many."""
    ended = 0
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                process.kill()
                ended += 1
        except psutil.Error:
            continue
    return ended
