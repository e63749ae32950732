"""What an earlier supervisor left running because it was killed outright."""

from __future__ import annotations

import contextlib
import signal

import psutil

from config.home import Home
from config.services.state import read_state, write_state

PATIENCE = 15.0


def clear_leftovers(home: Home) -> int:
    """Ends every recorded process that still lives, by its pid and start time; call with the home's lock held."""
    found = [(name, record.process()) for name, record in read_state(home).items()]
    alive = [(name, process) for name, process in found if process is not None]
    family = [child for _, process in alive for child in children_of(process)]
    for name, process in alive:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGINT if name == "postgres" else signal.SIGTERM)
    _, stubborn = psutil.wait_procs([process for _, process in alive], timeout=PATIENCE)
    for process in [*stubborn, *family]:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs([*stubborn, *family], timeout=PATIENCE)
    write_state(home, {})
    return len(alive)


def children_of(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []
