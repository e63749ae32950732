"""A program that reads the event stream as a browser does: cut off, it comes back with the last id it was given."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from experiments.access.services.tokens import token_create
from experiments.models import User

PAUSE_SECONDS = 0.2
SILENCE_SECONDS = 20.0


class Reader:
    def __init__(self, base_url: str, owner: User) -> None:
        self.address = urlsplit(base_url)
        _, self.secret = token_create(owner=owner, name="reader")
        self.rounds: dict[int, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
        self.last = ""
        self.connections = 0
        self.greeted, self.closed = Event(), Event()

    def __enter__(self) -> Reader:
        Thread(target=self.read, daemon=True).start()
        self.greeted.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()

    def read(self) -> None:
        while not self.closed.is_set():
            with suppress(OSError, HTTPException):
                self.follow()
            time.sleep(PAUSE_SECONDS)

    def follow(self) -> None:
        client = HTTPConnection(self.address.hostname or "", self.address.port, timeout=SILENCE_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {self.secret}", "Last-Event-ID": self.last}
            client.request("GET", "/api/v1/events", headers=headers)
            stream = client.getresponse()
            self.connections += 1
            while not self.closed.is_set() and (event := next_event(stream)):
                self.take(event)
        finally:
            client.close()

    def take(self, event: Mapping[str, str]) -> None:
        """As browsers do: an id counts once its event is whole."""
        data = json.loads(event["data"])
        self.last = event["id"]
        if event["event"] == "hello":
            self.greeted.set()
        if event["event"] == "metric":
            self.rounds[data["run"]].append((data["round"], data["metrics"]))

    def has(self, ends: Mapping[int, int]) -> bool:
        return all(self.rounds[run] and self.rounds[run][-1][0] == last for run, last in ends.items())

    def curve(self, run: int) -> dict[tuple[int, str], str]:
        return {
            (number, name): repr(float(value))
            for number, metrics in self.rounds[run]
            for name, value in metrics.items()
            if not name.startswith("seconds")
        }


def next_event(stream: HTTPResponse) -> dict[str, str] | None:
    """None where the stream has ended."""
    fields: dict[str, str] = {}
    while line := stream.readline().decode():
        if line == "\n" and "data" in fields:
            return fields
        name, _, value = line.rstrip("\n").partition(": ")
        fields[name] = value
    return None
