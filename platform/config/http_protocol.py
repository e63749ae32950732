"""HTTP as the web server takes it: how large a request's head may be, and how long a sender or a reader may take.

All of it holds before anybody is known. uvicorn itself waits for ever for the rest of a request, and for a reader that
does not read.
"""

from __future__ import annotations

import asyncio
import sys
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from config.http_limits import MOST_HEAD_BYTES

REFUSALS = {
    408: "The request took too long to arrive. Send it again.",
    431: f"The address and the headers are larger than {MOST_HEAD_BYTES // 1024} kB. Ask for less at a time.",
}


class LimitedProtocol(H11Protocol):
    """One connection.

    A head must be whole within `head_seconds`. A body has `body_seconds`, and a second more for each `body_rate` bytes
    that came. A reader must take what is sent within `read_seconds`. Where more than `most_waiting` connections have
    sent no whole request yet, the one that has waited longest makes room for the next; so does the reader that takes
    longest, where more than `most_unread` bytes wait to be read.
    """

    head_seconds: ClassVar[float] = 10.0
    body_seconds: ClassVar[float] = 20.0
    body_rate: ClassVar[float] = 10_000.0
    read_seconds: ClassVar[float] = 60.0
    most_waiting: ClassVar[int] = 500
    waiting: ClassVar[dict[LimitedProtocol, None]] = {}
    """Connections without a whole head, the oldest first."""
    most_unread: ClassVar[int] = 100_000_000
    unread: ClassVar[dict[LimitedProtocol, None]] = {}
    """Connections whose reader has not taken what was sent, the oldest first."""

    head_timer: asyncio.TimerHandle | None = None
    body_timer: asyncio.TimerHandle | None = None
    read_timer: asyncio.TimerHandle | None = None
    body_deadline = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.await_head()
        if len(self.waiting) > self.most_waiting:
            next(iter(self.waiting)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self.head_timer, self.body_timer, self.read_timer):
            if timer:
                timer.cancel()
        self.waiting.pop(self, None)
        self.unread.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.body_timer:
            self.body_deadline += len(data) / self.body_rate
        super().data_received(data)

    def handle_events(self) -> None:
        """Also of a request that came while the one before was answered."""
        super().handle_events()
        state = self.conn.their_state
        if state is h11.IDLE:
            self.await_head()
        else:
            self.end_await_head()
        if state is not h11.SEND_BODY:
            self.end_await_body()
        elif self.body_timer is None:
            self.body_deadline = self.loop.time() + self.body_seconds
            self.await_body()

    def await_head(self) -> None:
        """Between two requests uvicorn's shorter time for idle connections counts until something comes."""
        if self.head_timer is None and self.timeout_keep_alive_task is None:
            self.waiting[self] = None
            self.head_timer = self.loop.call_later(self.head_seconds, self.refuse, 408)

    def end_await_head(self) -> None:
        self.waiting.pop(self, None)
        if self.head_timer:
            self.head_timer.cancel()
            self.head_timer = None

    def await_body(self) -> None:
        """A sender is not blamed for the time in which this side does not read."""
        if self.flow.read_paused:
            self.body_deadline = self.loop.time() + self.body_seconds
        if self.loop.time() >= self.body_deadline:
            self.refuse(408)
        else:
            self.body_timer = self.loop.call_at(self.body_deadline, self.await_body)

    def end_await_body(self) -> None:
        if self.body_timer:
            self.body_timer.cancel()
            self.body_timer = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self.read_timer is None:
            self.read_timer = self.loop.call_later(self.read_seconds, self.transport.abort)
        self.unread[self] = None
        self.make_room()

    def make_room(self) -> None:
        """A whole answer is handed over at once, however slowly it is read."""
        sizes = {each: each.transport.get_write_buffer_size() for each in self.unread}
        excess = sum(sizes.values()) - self.most_unread
        for each, size in sizes.items():
            if excess <= 0 or each is self:
                break
            each.transport.abort()
            excess -= size

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread.pop(self, None)
        if self.read_timer:
            self.read_timer.cancel()
            self.read_timer = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.abort_unread()

    def abort_unread(self) -> None:
        """Closing waits until all is read, which may be never."""
        self.loop.call_later(self.read_seconds, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        status = getattr(sys.exception(), "error_status_hint", 400)
        self.refuse(status if status in REFUSALS else 400, msg)

    def refuse(self, status: int, reason: str = "") -> None:
        """In plain words where nothing was answered yet; the connection ends in any case."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            response = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
            text = h11.Data(data=REFUSALS.get(status, reason).encode())
            for event in (response, text, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self.abort_unread()
