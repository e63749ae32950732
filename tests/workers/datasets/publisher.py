"""A publisher on this machine: serves files over HTTP with ranges, and misbehaves on request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Publisher:
    files: dict[str, bytes]
    address: str = ""
    cuts: list[int] = field(default_factory=list)
    """How many bytes each of the next answers sends before its connection is cut."""
    ranges: bool = True
    requests: list[tuple[str, str]] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator[Publisher]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def handler(publisher) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        byte_range = request.headers.get("Range", "")
        self.requests.append((request.path, byte_range))
        content = self.files.get(request.path)
        if content is None:
            request.send_error(404)
            return
        start = int(match[1]) if self.ranges and (match := re.fullmatch(r"bytes=(\d+)-", byte_range)) else 0
        if start >= len(content) > 0:
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{len(content)}")
            request.end_headers()
            return
        self.send(request, content, start)

    def send(self, request: BaseHTTPRequestHandler, content: bytes, start: int) -> None:
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(content) - start))
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        request.end_headers()
        end = start + self.cuts.pop(0) if self.cuts else len(content)
        request.wfile.write(content[start:end])
