"""What has happened in a run of an app, appended as it happens: every reply of a client, and every round.

A resumed run calls the app's `main` again and gives it the stored replies: whatever the server computes and keeps, it
computes and keeps again, so that its state needs no format. Each request must be the one that was stored, or the run
starts anew. A record is a line of JSON (kind, fields, size and checksum of what follows) and bytes; a torn one at the
end, of a process that was killed in the middle of it, is left out.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from workers.errors import CheckpointError

FORMAT = 1
HEADER, REPLY, ROUND = "journal", "reply", "round"


@dataclass(frozen=True)
class Entry:
    kind: str
    fields: dict[str, Any]
    data: bytes = b""


class Journal:
    """Written by one attempt. Beyond `most_bytes`, or on a full disk, nothing more is stored: a resumed run computes

    again what came after.
    """

    def __init__(self, path: Path, identity: str, most_bytes: int, earlier: list[Entry] | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.most_bytes, self.size = path, most_bytes, 0
        self.file: BinaryIO | None = path.open("wb", buffering=0)
        self.append(Entry(HEADER, {"format": FORMAT, "identity": identity}))
        for entry in earlier or ():
            self.append(entry)

    @property
    def is_complete(self) -> bool:
        return self.file is not None

    def append(self, entry: Entry) -> None:
        if self.file is None:
            return
        line = {"kind": entry.kind, "size": len(entry.data), "crc": zlib.crc32(entry.data), **entry.fields}
        record = json.dumps(line).encode() + b"\n" + entry.data
        self.size += len(record)
        if self.size > self.most_bytes:
            self.give_up()
            return
        try:
            self.file.write(record)
        except OSError:
            self.give_up()

    def give_up(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def flush(self) -> None:
        """Onto the disk, so that a machine that loses power loses nothing of it."""
        if self.file is not None:
            os.fsync(self.file.fileno())


def read_journal(path: Path, identity: str) -> list[Entry]:
    """All whole entries; a `CheckpointError` where it cannot be read, is another run's or of another format."""
    try:
        header, *entries = read_entries(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"The journal {path.name} cannot be read; it is not used ({error}).") from None
    if header.kind != HEADER or header.fields.get("format") != FORMAT:
        raise CheckpointError(f"The journal {path.name} is of another format; it is not used.")
    if header.fields.get("identity") != identity:
        raise CheckpointError(f"The journal {path.name} belongs to another run; it is not used.")
    return entries


def read_entries(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        while line := file.readline():
            try:
                fields = json.loads(line)
            except ValueError:
                return
            data = file.read(fields.pop("size"))
            if zlib.crc32(data) != fields.pop("crc"):
                return
            yield Entry(fields.pop("kind"), fields, data)
