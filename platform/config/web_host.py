"""Web processes behind one port: each is handed the same listening socket, and whoever has time takes the next caller.

While one is started anew, the others serve; while all are, callers wait at the port instead of being refused.
"""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from django.conf import settings

from config.home import Home
from config.processes import child_environment, shared_web_command
from config.services.server import Command
from config.supervisor import Child, StopSignal, Supervisor, process_child

GRACE_SECONDS = 8.0


def open_port(host: str, port: int) -> socket.socket:
    """Bound, and listening from when the first web process does. Raises `OSError` where that cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # What is accepted inherits it. asyncio sets it itself only where it knows that a socket is TCP's.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    return listening


def web_names(count: int) -> list[str]:
    return ["web", *(f"web-{number}" for number in range(2, count + 1))]


def web_children(
    listening: socket.socket,
    home: Home,
    environment: Mapping[str, str],
    log_of: Callable[[str], Path | None],
    ready: Callable[[], bool] = lambda: True,
) -> list[Child]:
    """As many as WEB_PROCESSES says. What several count for Prometheus lies in a folder that they share."""
    count, extra = settings.WEB_PROCESSES, {}
    if count > 1:
        extra["PROMETHEUS_MULTIPROC_DIR"] = str(empty_folder(home.path / "web-metrics"))
    arguments, port = shared_web_command(listening.fileno()), (listening.fileno(),)
    return [
        process_child(
            name,
            Command(arguments, log_of(name), {**environment, **extra}, descriptors=port),
            ready,
            GRACE_SECONDS,
        )
        for name in web_names(count)
    ]


def empty_folder(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    return path


def run_web_processes() -> None:
    """`manage.py web` where there are several: writes to this process's own output, and keeps no state."""
    supervisor = Supervisor(None)
    supervisor.handle_signals()
    try:
        with open_port(settings.HOST, settings.PORT) as listening:
            for child in web_children(listening, settings.HOME.make(), child_environment(), lambda name: None):
                supervisor.add(child)
            supervisor.watch()
    except StopSignal:
        pass
    except OSError as error:
        sys.exit(f"{settings.HOST}:{settings.PORT} cannot be listened on: {error.strerror}.")
    finally:
        supervisor.stop()
