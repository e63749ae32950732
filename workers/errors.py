"""The errors that people see: one base class, each carrying data that a page or a REST answer can show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong, and where: `path` is dotted, as the person wrote it."""

    path: str
    message: str

    def below(self, prefix: str) -> Problem:
        return Problem(".".join(part for part in (prefix, self.path) if part), self.message)


class TributaryError(Exception):
    """Base of every error that is shown to a person. The text says what to do."""

    def __init__(self, detail: str, errors: Iterable[Problem] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)

    def __str__(self) -> str:
        lines = [f"  {error.path}: {error.message}" for error in self.errors]
        return "\n".join([self.detail, *lines])


MOST_PROBLEMS = 1_000
"""Of one answer: more are hardly somebody's mistakes, and each is worded for its reader."""


class SpecError(TributaryError):
    """A spec or a grid that cannot be run; `errors` lists every problem, each with its path."""

    def __init__(self, errors: Iterable[Problem], detail: str | None = None) -> None:
        problems = tuple(sorted(set(islice(errors, MOST_PROBLEMS))))
        noun = "problem" if len(problems) == 1 else "problems"
        count = f"{len(problems)}" if len(problems) < MOST_PROBLEMS else f"{MOST_PROBLEMS:,} or more"
        super().__init__(detail or f"The spec has {count} {noun}.", problems)


class FederationError(TributaryError):
    """A federation that cannot be made from its data: too few samples, unreachable minimum size."""


class DatasetError(TributaryError):
    """Originals that are missing or not what they should be, or a cache that is damaged and cannot be rebuilt."""


class CheckpointError(TributaryError):
    """A checkpoint that is truncated, damaged or belongs to another run."""


class StopRequested(TributaryError):  # noqa: N818 (asked for, not an error)
    """The run was asked to stop; its last checkpoint is complete."""
