"""What a check finds, how severe it is, and the sections of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    GOOD = "good"
    NOTE = "note"
    """Worth knowing; nothing needs to be done."""
    WARNING = "warning"
    """Works for now, or for most."""
    ERROR = "error"
    """Something does not work."""


@dataclass(frozen=True)
class Finding:
    """What was seen, and how to mend it where that is needed."""

    severity: Severity
    seen: str
    mend: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    findings: tuple[Finding, ...]


Check = Callable[[], Iterable[Finding]]


def good(seen: str) -> Finding:
    return Finding(Severity.GOOD, seen)


def note(seen: str, mend: str = "") -> Finding:
    return Finding(Severity.NOTE, seen, mend)


def warning(seen: str, mend: str) -> Finding:
    return Finding(Severity.WARNING, seen, mend)


def error(seen: str, mend: str) -> Finding:
    return Finding(Severity.ERROR, seen, mend)


def size_text(count: float) -> str:
    """1 KB is 1,000 bytes, as disks are sold."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
