"""A run's log: the file that its worker writes, read from any byte on."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from workers.home import log_file

LOG_BYTES = 64 * 1024


@dataclass(frozen=True)
class LogPart:
    """`after` is where the next part begins; `here` is False where another machine holds the log, or none exists."""

    text: str
    after: int
    size: int
    here: bool = True


def run_log(*, run: int, after: int | None = None, limit: int = LOG_BYTES) -> LogPart:
    """At most `limit` bytes from byte `after` on; without `after`, or behind the end, the last whole lines."""
    try:
        with log_file(run).open("rb") as file:
            size = file.seek(0, 2)
            tail = after is None or after > size
            start = max(0, size - limit) if after is None or after > size else after
            file.seek(start)
            raw = file.read(limit)
    except OSError:
        return LogPart("", 0, 0, here=False)
    text, read = whole_characters(raw)
    if tail and start:
        text = text.partition("\n")[2] or text
    return LogPart(text, start + read, size)


def whole_characters(raw: bytes) -> tuple[str, int]:
    """The text, and how many bytes of it were whole: a character may be cut by the limit or half written."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(raw)
    return text, len(raw) - len(decoder.getstate()[0])
