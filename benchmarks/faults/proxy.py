"""A cable to a server that can be cut: from a TCP port of this machine to the server's socket, or its own port."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

CHUNK = 1 << 16


class Proxy:
    """While it is cut nothing passes, nobody is told, and connections stay open; what was on its way arrives late."""

    def __init__(self, target: Path | tuple[str, int]) -> None:
        self.target = target
        self.passing = Event()
        self.passing.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        Thread(target=self.serve, daemon=True).start()

    def cut(self) -> None:
        self.passing.clear()

    def heal(self) -> None:
        self.passing.set()

    def close(self) -> None:
        self.heal()
        self.listener.close()

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                Thread(target=self.join, args=[here], daemon=True).start()

    def join(self, here: socket.socket) -> None:
        self.passing.wait()
        with suppress(OSError):
            there = self.connect()
            Thread(target=self.forward, args=[there, here], daemon=True).start()
            self.forward(here, there)
        here.close()

    def connect(self) -> socket.socket:
        if isinstance(self.target, tuple):
            return socket.create_connection(self.target)
        there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        there.connect(str(self.target))
        return there

    def forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                self.passing.wait()
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
