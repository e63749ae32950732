import pytest
from asgiref.sync import async_to_sync

from experiments.access.selectors.credentials import Credential
from experiments.results.live import stream
from experiments.results.live.events import EventScope
from experiments.results.live.listener import Wish
from experiments.results.live.stream import event_stream

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_quiet_stream_says_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.01)

    async def first_words() -> list[bytes]:
        parts = event_stream(Wish(EventScope()), None, Credential(1, "member"))
        return [await anext(parts) for _ in range(3)]

    hello, *beats = async_to_sync(first_words)()
    assert hello.startswith(b"retry: 1000\n\nevent: hello\nid: ")
    assert beats == [b": still here\n\n"] * 2
