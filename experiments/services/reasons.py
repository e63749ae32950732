"""Why runs failed, in one line: what groups them and what people read first."""

from __future__ import annotations

UNKNOWN = "No reason was recorded."


def first_line(reason: str) -> str:
    return reason.strip().split("\n")[0].strip() or UNKNOWN
