"""What REST answers with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from ninja import Schema
from pydantic import ConfigDict, Field

Id = Annotated[int, Field(ge=1, lt=2**63)]
Number = float | Literal["NaN", "Infinity", "-Infinity"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
Item = TypeVar("Item")


class Answer(Schema):
    model_config = ConfigDict(use_attribute_docstrings=True)


class ErrorAnswer(Answer):
    class Problem(Answer):
        path: str
        """Where, as written: `blocks.0.strategy.mu`."""
        message: str

    detail: str
    errors: list[Problem] = []


class Page(Answer, Generic[Item]):
    count: int
    """How many there are in all."""
    next: str | None
    """Give it as `cursor` to get the next page; null on the last one."""
    items: list[Item]


class StudyAnswer(Answer):
    id: int
    name: str
    description: str
    tags: list[str]
    origin: str
    owner: str
    priority: int
    requires: str
    paused: bool
    created: datetime
    state: str
    """One word for the whole: running, queued, paused, done, failed, cancelled."""
    runs: int
    counts: dict[State, int]
    """Runs by state."""
    rounds_done: int
    rounds_total: int
    seconds_left: float | None
    """At the present speed; null where nothing runs."""


class StudyDetail(StudyAnswer):
    blocks: list[dict[str, Any]]
    """As written."""


class PlanAnswer(Answer):
    runs: int
    cells: int
    reused: int
    """Runs that exist already and would become members."""


class Counted(Answer):
    runs: int
    """How many runs were changed."""


class RunAnswer(Answer):
    id: int
    hash: str
    cell: str
    """The same for runs that differ only in seed."""
    seed: int
    state: State
    cancelling: bool
    rounds_done: int
    rounds_total: int
    engine: str
    reason: str
    """Why it failed."""
    worker: str | None
    studies: list[int]
    created: datetime
    started: datetime | None
    finished: datetime | None


class AttemptAnswer(Answer):
    number: int
    worker: str
    started: datetime
    ended: datetime | None
    outcome: str
    reason: str
    checkpoint_round: int | None


class RunDetail(RunAnswer):
    spec: dict[str, Any]
    provenance: dict[str, Any]
    artifact: str
    """Where the final parameters are, below the lab's home folder."""
    attempts: list[AttemptAnswer]


class RoundAnswer(Answer):
    round: int
    metrics: dict[str, Number]
    """By name; not-a-number and infinity are text."""


class MetricsAnswer(Answer):
    run: int
    state: State
    rounds: list[RoundAnswer]


class WorkerAnswer(Answer):
    id: int
    name: str
    host: str
    device: str
    threads: int
    alive: bool
    draining: bool
    run: int | None
    rounds_per_second: float
    started: datetime
    heartbeat: datetime
