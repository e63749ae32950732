"""What a fault is, and one try of it: a study, a random moment, the fault, and the wait for the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection

from benchmarks.faults.lab import Lab
from experiments.models import Attempt, Membership, Run, RunState, Study
from experiments.studies.services.launch import study_launch

Answer = TypeVar("Answer")
LOOK_SECONDS = 0.01
PATIENCE_SECONDS = 120.0
EARLY = 0.15
"""Share of faults in the first moments of a run; the others come in the first two thirds of its rounds."""
UNFINISHED = (RunState.QUEUED, RunState.RUNNING)


class MissedError(Exception):
    """The run was faster than the fault: nothing was tried."""


class StuckError(Exception):
    """What should have happened long ago has not."""


@dataclass
class Trial:
    lab: Lab
    random: Random
    block: Mapping[str, Any]
    struck: Attempt | None = None
    struck_at: float = 0.0
    moment: str = ""
    study: Study | None = None
    failing: set[int] = field(default_factory=set)
    """Runs that must end as failed."""
    touched: set[int] = field(default_factory=set)
    """Further runs that the fault was allowed to interrupt."""
    cleanup: ExitStack = field(default_factory=ExitStack)
    """What is taken away again after everything was looked at."""
    problems: list[str] = field(default_factory=list)

    def launch(self, runs: int = 2, *more: Mapping[str, Any]) -> Study:
        blocks = [*more, {**self.block, "seeds": runs}]
        self.study = study_launch(owner=self.lab.owner, name="Disturbed", blocks=blocks, reuse=False)
        return self.study

    @property
    def last_moment(self) -> int:
        """Faults come in the first two thirds of a run."""
        return int(self.block["rounds"]) * 2 // 3

    def wait_for_random_moment(self, worker: str = "", last: int | None = None) -> Attempt:
        """The attempt of a run of the study that is at work (on that worker), at a random moment up to round `last`."""
        attempt = self.wait_for(lambda: self.running_attempt(worker))
        early = self.random.random() < EARLY
        rounds = -1 if early else self.random.randint(0, self.last_moment if last is None else last)
        self.wait_for(lambda: self.is_far_enough(attempt.run, rounds))
        time.sleep(self.random.uniform(0, 1.0 if early else 0.06))
        self.strike_at(attempt)
        return attempt

    def strike_at(self, attempt: Attempt) -> None:
        self.struck, self.struck_at = attempt, time.time()
        self.moment = f"round {Run.objects.values_list('rounds_done', flat=True).get(pk=attempt.run_id)}"

    def running_attempt(self, worker: str = "") -> Attempt | None:
        mine = Attempt.objects.filter(run__studies=self.study, ended=None, worker__startswith=worker)
        return mine.order_by("pk").first()

    def is_far_enough(self, run: Run, rounds: int) -> bool:
        """Far enough, or beyond: a run that ended meanwhile is as far as it gets."""
        current = Run.objects.only("state", "rounds_done").get(pk=run.pk)
        return current.state not in UNFINISHED or rounds < 0 or current.rounds_done >= rounds

    def has_ended(self, attempt: Attempt) -> bool:
        return Attempt.objects.filter(pk=attempt.pk).exclude(ended=None).exists()

    def wait_for(self, condition: Callable[[], Answer | None], what: str = "the run to go on") -> Answer:
        """Also through times without a database."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                if answer := condition():
                    return answer
            except (OperationalError, InterfaceError):
                connection.close()
            time.sleep(LOOK_SECONDS)
        raise StuckError(f"Waited {PATIENCE_SECONDS:g} seconds for {what}.")

    def wait_until_finished(self) -> None:
        self.wait_for(self.is_finished, "the study to end")

    def is_finished(self) -> bool:
        waits = Membership.objects.filter(waiting=True).exists()
        return not waits and not Run.objects.filter(state__in=UNFINISHED).exists()

    def demand(self, condition: bool, problem: str) -> None:
        if not condition:
            self.problems.append(problem)

    def worker_of(self, attempt: Attempt) -> str:
        return attempt.worker.partition("@")[0]


@dataclass(frozen=True)
class Fault:
    """One of those in `kinds`. `strike` launches, waits for its moment, does the harm and takes it away again.

    `ends` are the outcomes that the struck attempt may have. Where `done` is none of them, a run that was faster than
    the fault does not count as a try.
    """

    name: str
    title: str
    promise: str
    strike: Callable[[Trial], None]
    ends: Sequence[str]
