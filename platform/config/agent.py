"""The process that has the connections to PostgreSQL of a host with several workers."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from config.processes import agent_command
from config.services.server import Command, spawn
from config.supervisor import Child

GRACE_SECONDS = 10.0


@contextmanager
def agent_folder() -> Iterator[Path]:
    """For its socket, whose path must be short; for this account alone."""
    with tempfile.TemporaryDirectory(prefix="tributary-agent-") as folder:
        yield Path(folder)


def agent_child(folder: Path, workers: int, environment: Mapping[str, str], log: Path | None) -> Child | None:
    """One worker has its own connection. The agent has an address, and so outlives the workers that write by it."""
    if workers < 2:
        return None
    address = folder / "socket"
    command = Command(agent_command(address, workers), log, environment)
    return Child(
        "agent",
        lambda: spawn(command),
        log,
        lambda: takes_calls(address),
        grace_seconds=GRACE_SECONDS,
        address=str(address),
    )


def takes_calls(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(address))
        except OSError:
            return False
    return True
