"""Who is answered, who waits and who is told to come back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from config.request_slots import BusyError, RequestSlots, Slots, sender_of

Message = dict[str, Any]


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def taken(slots: Slots, *senders: str) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(slots.take(sender)) for sender in senders]
    await settle()
    return tasks


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_beyond_the_limit_one_waits_and_is_served_in_turn() -> None:
    async def test() -> None:
        slots = Slots(2, 2)
        tasks = await taken(slots, "a", "b", "c", "d")
        assert [task.done() for task in tasks] == [True, True, False, False]
        slots.give_back("a")
        await settle()
        assert [task.done() for task in tasks] == [True, True, True, False]
        slots.give_back("b")
        await asyncio.gather(*tasks)

    run(test())


def test_one_sender_leaves_room_for_the_others() -> None:
    async def test() -> None:
        slots = Slots(3, 2)
        tasks = await taken(slots, "a", "a", "a", "b")
        assert [task.done() for task in tasks] == [True, True, False, True]
        slots.give_back("b")
        await settle()
        assert not tasks[2].done()
        slots.give_back("a")
        await tasks[2]

    run(test())


def test_who_waits_too_long_or_behind_too_many_is_told_so() -> None:
    async def test() -> None:
        slots = Slots(1, 1, patience=0.01, most_waiting=1)
        await slots.take("a")
        waiting = (await taken(slots, "b"))[0]
        with pytest.raises(BusyError):
            await slots.take("c")
        with pytest.raises(BusyError):
            await waiting
        slots.give_back("a")
        await slots.take("d")
        assert slots.taken == {"d": 1}

    run(test())


def test_who_leaves_while_waiting_keeps_no_place() -> None:
    async def test() -> None:
        slots = Slots(1, 1)
        tasks = await taken(slots, "a", "b", "c")
        tasks[1].cancel()
        slots.give_back("a")
        await tasks[2]
        assert slots.taken == {"c": 1}
        assert not slots.waiting

    run(test())


class Lab:
    """An application that answers when told to, with one slot."""

    def __init__(self, kind: bytes = b"text/html") -> None:
        self.kind, self.leave, self.sent = kind, asyncio.Event(), list[Message]()
        self.application = RequestSlots(self.answer, 1)
        self.application.slots.patience = 0.01

    async def answer(self, scope: Message, receive: Any, send: Any) -> None:
        if (await receive())["type"] == "http.disconnect":
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Type", self.kind)]})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await self.leave.wait()
        await send({"type": "http.response.body", "body": b""})

    def ask(self, path: str = "/", body: Message | None = None) -> asyncio.Task[None]:
        async def receive() -> Message:
            return body or {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            self.sent.append(message)

        scope = {"type": "http", "path": path, "headers": [], "client": ("10.0.0.1", 1)}
        return asyncio.create_task(self.application(scope, receive, send))

    @property
    def statuses(self) -> list[int]:
        return [message["status"] for message in self.sent if "status" in message]


def test_a_request_beyond_the_limit_gets_429_with_the_time_to_wait() -> None:
    async def test() -> None:
        lab = Lab()
        first = lab.ask()
        await settle()
        await lab.ask()
        assert lab.statuses == [200, 429]
        (refusal,) = [message for message in lab.sent if message.get("status") == 429]
        assert dict(refusal["headers"])[b"retry-after"] == b"5"
        lab.leave.set()
        await first
        await lab.ask()
        assert lab.statuses == [200, 429, 200]

    run(test())


def test_the_health_check_has_slots_of_its_own() -> None:
    async def test() -> None:
        lab = Lab()
        tasks = [lab.ask(), lab.ask("/healthz")]
        await settle()
        assert lab.statuses == [200, 200]
        lab.leave.set()
        await asyncio.gather(*tasks)

    run(test())


def test_an_event_stream_holds_no_slot_once_it_has_begun() -> None:
    async def test() -> None:
        lab = Lab(b"text/event-stream")
        tasks = [lab.ask() for _ in range(5)]
        await asyncio.sleep(0.05)
        assert lab.statuses == [200] * 5
        assert not lab.application.slots.taken
        lab.leave.set()
        await asyncio.gather(*tasks)
        assert not lab.application.slots.taken

    run(test())


def test_a_body_that_is_not_there_whole_holds_no_slot() -> None:
    async def test() -> None:
        lab = Lab()
        half = lab.ask(body={"type": "http.request", "body": b"x", "more_body": True})
        await settle()
        assert not lab.application.slots.taken
        lab.leave.set()
        await half

    run(test())


def test_senders_are_told_apart_by_their_secret_but_not_where_anyone_may_ask() -> None:
    def sender(path: str, address: str, **headers: str) -> str:
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        return sender_of({"path": path, "headers": pairs, "client": (address, 1)})

    assert sender("/", "10.0.0.1") == "10.0.0.1"
    one, other = (sender("/", "10.0.0.1", cookie=f"csrftoken=x; sessionid={each}") for each in ("a", "b"))
    assert one != other != "10.0.0.1"
    assert sender("/", "10.0.0.2", cookie="sessionid=a") == one
    assert sender("/shared/x", "10.0.0.1", cookie="sessionid=a") == "10.0.0.1"
    assert sender("/api/v1/runs", "10.0.0.1", authorization="Bearer trib_a") not in (one, other, "10.0.0.1")
