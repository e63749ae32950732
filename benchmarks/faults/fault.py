"""What a fault is. Each has a module below `kinds`; the registry lists them in the order of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.faults.trial import Trial


@dataclass(frozen=True)
class Fault:
    """`strike` launches, waits for its moment, does the harm and takes it away again.

    `ends` are the outcomes that the struck attempt may have. Where `done` is none of them, a run that was faster than
    the fault does not count as a try.
    """

    name: str
    title: str
    promise: str
    strike: Callable[[Trial], None]
    ends: Sequence[str]
