"""How many requests are answered at once: each has a thread and may have a connection to PostgreSQL.

The workers, the scheduler and the health check must find connections left, whoever asks for whatever: requests beyond
the limit wait their turn, and those that would wait too long are told when to come back.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque

from config.http_limits import Application, Message, Receive, Scope, Send, header_value, send_refusal, web_share

MOST_OF_ONE_SENDER = 8
MOST_WAITING = 300
MOST_HEALTH_CHECKS = 2
PATIENCE_SECONDS = 20.0
RETRY_SECONDS = 5
PUBLIC_PATHS = ("/shared/", "/log-in", "/static/")
"""Whoever asks for these may bring any cookie: they are told apart by their address alone."""
HEALTH_PATH = "/healthz"
BUSY = f"The server has too much to do. Try again in {RETRY_SECONDS} seconds."


class BusyError(Exception):
    """Nothing became free in time."""


class Slots:
    """At most `most` at once, `each` of one sender; whoever waits is served in turn, past those at their limit."""

    def __init__(
        self, most: int, each: int, patience: float = PATIENCE_SECONDS, most_waiting: int = MOST_WAITING
    ) -> None:
        self.most, self.each = most, each
        self.patience, self.most_waiting = patience, most_waiting
        self.taken: Counter[str] = Counter()
        self.waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    async def take(self, sender: str) -> None:
        if self.has_room(sender):
            self.taken[sender] += 1
            return
        if len(self.waiting) >= self.most_waiting:
            raise BusyError
        turn = (sender, asyncio.get_running_loop().create_future())
        self.waiting.append(turn)
        try:
            async with asyncio.timeout(self.patience):
                await turn[1]
        except BaseException as error:
            if turn in self.waiting:
                self.waiting.remove(turn)
            else:  # its turn came in the same moment
                self.give_back(sender)
            raise BusyError if isinstance(error, TimeoutError) else error from None

    def has_room(self, sender: str) -> bool:
        return self.taken.total() < self.most and self.taken[sender] < self.each

    def give_back(self, sender: str) -> None:
        self.taken[sender] -= 1
        self.taken += Counter()  # forgets whoever has none
        for turn in tuple(self.waiting):
            if self.has_room(turn[0]) and not turn[1].done():
                self.waiting.remove(turn)
                self.taken[turn[0]] += 1
                turn[1].set_result(None)
                return


class RequestSlots:
    """Takes a slot once a request is there whole, so that slow senders hold none, and until it is answered.

    `most` is for all web processes together, as is what one sender may have at once: each has its share.

    An event stream gives its slot back with its first words: from then on it waits, without a connection.
    """

    def __init__(self, application: Application, most: int) -> None:
        self.application = application
        self.slots = Slots(web_share(most), web_share(min(most, MOST_OF_ONE_SENDER)))
        self.health_slots = Slots(web_share(MOST_HEALTH_CHECKS), web_share(MOST_HEALTH_CHECKS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slots = self.health_slots if scope["path"] == HEALTH_PATH else self.slots
        request = SlottedRequest(slots, sender_of(scope), receive, send)
        try:
            await self.application(scope, request.receive, request.send)
        finally:
            request.give_back()
        if request.refused:
            await send_refusal(send, 429, BUSY, (b"retry-after", str(RETRY_SECONDS).encode()))


class SlottedRequest:
    def __init__(self, slots: Slots, sender: str, receive: Receive, send: Send) -> None:
        self.slots, self.sender = slots, sender
        self.receive_message, self.send_message = receive, send
        self.has_slot = self.had_slot = self.refused = self.streams_events = False

    async def receive(self) -> Message:
        """Where there is no room, the sender counts as gone, and nothing was answered yet."""
        message = await self.receive_message()
        if message["type"] != "http.request" or message.get("more_body") or self.had_slot:
            return message
        try:
            await self.slots.take(self.sender)
        except BusyError:
            self.refused = True
            return {"type": "http.disconnect"}
        self.has_slot = self.had_slot = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.streams_events = header_value(message, b"content-type").startswith(b"text/event-stream")
        elif self.streams_events and message.get("body"):
            self.give_back()
        await self.send_message(message)

    def give_back(self) -> None:
        if self.has_slot:
            self.has_slot = False
            self.slots.give_back(self.sender)


def sender_of(scope: Scope) -> str:
    """A person's token or session where there is one, unchecked yet; otherwise the address."""
    secret = header_value(scope, b"authorization") or session_cookie(header_value(scope, b"cookie"))
    if secret and not scope["path"].startswith(PUBLIC_PATHS):
        return hashlib.sha256(secret).hexdigest()
    return str((scope.get("client") or ("",))[0])


def session_cookie(cookies: bytes) -> bytes:
    pairs = (pair.strip().partition(b"=") for pair in cookies.split(b";"))
    return next((value for name, _, value in pairs if name == b"sessionid"), b"")
