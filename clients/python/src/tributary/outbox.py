"""What scripts have logged and the lab may not have heard yet: a file for each run, sent in order, line by line.

A line is on the disk before `log` returns, and counts as sent once the lab has answered; how far that is stands in a
second file. The lab keeps once what it hears twice, so that a sender that was cut off simply begins again from there.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tributary.connection import AwayError, Connection, LabError

try:
    import fcntl
except ImportError:  # Windows: two senders of one run at once are not kept apart, which only costs time
    fcntl = None  # type: ignore[assignment]

FOLDER = "TRIBUTARY_OUTBOX"
ROUNDS_AT_ONCE = 500
START, FINISH = "start", "finish"
NOT_ADMITTED = (401, 429)
"""Nothing else would be taken either."""
GONE_ON = (404, 409)
"""The lab has deleted, cancelled or ended the run: what is left of it has no place there."""


def outbox_folder() -> Path:
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(os.environ.get(FOLDER) or Path(data) / "tributary" / "outbox")


class RunFile:
    """One run's lines. `sent` is how many bytes of them the lab has, `run` its number there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.progress_path = path.with_suffix(".sent")
        progress = json.loads(self.progress_path.read_text()) if self.progress_path.exists() else {}
        self.sent: int = progress.get("sent", 0)
        self.run: int | None = progress.get("run")

    @classmethod
    def create(cls, start: dict[str, Any]) -> RunFile:
        folder = outbox_folder()
        folder.mkdir(parents=True, exist_ok=True)
        own = cls(folder / f"{uuid.uuid4().hex}.jsonl")
        own.append({START: {**start, "key": own.path.stem}})
        return own

    def append(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def unsent(self) -> list[tuple[dict[str, Any], int]]:
        """Whole lines with the place after each: one that a killed script left half is not there."""
        with self.path.open("rb") as file:
            file.seek(self.sent)
            data = file.read()
        lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        messages, place = [], self.sent
        for line in lines:
            place += len(line)
            messages.append((json.loads(line), place))
        return messages

    def send(self, lab: Connection) -> str:
        """Sends what is left. The run's state at the lab, or "" where nothing was to be sent."""
        state, last = "", self.sent
        rounds: list[dict[str, Any]] = []
        for message, place in [*self.unsent(), ({}, 0)]:
            if rounds and ("round" not in message or len(rounds) == ROUNDS_AT_ONCE):
                state = lab.post(f"/logged-runs/{self.run}/rounds", rounds)["state"]
                self.remember(last)
                rounds = []
            if START in message:
                answer = lab.post("/logged-runs", message[START])
                self.run, state = answer["id"], answer["state"]
                self.remember(place)
            elif FINISH in message:
                state = lab.post(f"/logged-runs/{self.run}/finish", message[FINISH])["state"]
                self.remember(place)
            elif message:
                rounds.append(message)
            last = place
        return state

    def remember(self, place: int) -> None:
        self.sent = place
        part = self.progress_path.with_suffix(".part")
        part.write_text(json.dumps({"sent": self.sent, "run": self.run}))
        part.replace(self.progress_path)

    @property
    def finished(self) -> bool:
        """Whether all of it is sent, its end too."""
        with self.path.open("rb") as file:
            data = file.read()
        last = data.splitlines()[-1] if data else b"{}"
        return self.sent == len(data) and last.startswith(b'{"finish"')

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.progress_path.unlink(missing_ok=True)
        self.path.with_suffix(".lock").unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Whether this process may send it: the script that writes it does so itself while it lives."""
        with self.path.with_suffix(".lock").open("w") as lock:
            try:
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
            else:
                yield True


def waiting_files() -> list[RunFile]:
    folder = outbox_folder()
    return [RunFile(path) for path in sorted(folder.glob("*.jsonl"))] if folder.exists() else []


def synchronise(lab: Connection) -> Iterator[tuple[RunFile, str]]:
    """Sends what dead scripts and absent labs left behind; each file with what became of it."""
    for each in waiting_files():
        with each.held() as mine:
            if not mine:
                yield each, "its script is at work"
                continue
            try:
                state = each.send(lab)
            except AwayError:
                raise
            except LabError as error:
                if error.status in NOT_ADMITTED:
                    raise
                state = f"refused, and kept: {error}"
                if error.status in GONE_ON:
                    state = f"given up: {error.detail}"
                    each.remove()
            if each.path.exists() and each.finished:
                each.remove()
            yield each, state or "nothing to send"
