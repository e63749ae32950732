"""One try of one fault: a study, a random moment, the fault, and the wait for the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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
    scene: ExitStack = field(default_factory=ExitStack)
    """What is taken away again after everything was looked at."""
    problems: list[str] = field(default_factory=list)

    def launch(self, runs: int = 2, *more: Mapping[str, Any]) -> Study:
        blocks = [*more, {**self.block, "seeds": runs}]
        self.study = study_launch(owner=self.lab.owner, name="Disturbed", blocks=blocks, reuse=False)
        return self.study

    def somewhere(self, worker: str = "") -> Attempt:
        """The attempt of a run of the study that is at work (on that worker), at a random moment of it."""
        attempt = self.wait_for(lambda: self.at_work(worker))
        early = self.random.random() < EARLY
        wanted = -1 if early else self.random.randint(0, self.block["rounds"] * 2 // 3)
        self.wait_for(lambda: self.far(attempt.run, wanted))
        time.sleep(self.random.uniform(0, 1.0 if early else 0.06))
        self.strike_at(attempt)
        return attempt

    def strike_at(self, attempt: Attempt) -> None:
        self.struck, self.struck_at = attempt, time.time()
        self.moment = f"round {Run.objects.values_list('rounds_done', flat=True).get(pk=attempt.run_id)}"

    def at_work(self, worker: str = "") -> Attempt | None:
        mine = Attempt.objects.filter(run__studies=self.study, ended=None, worker__startswith=worker)
        return mine.order_by("pk").first()

    def far(self, wanted: Run, rounds: int) -> bool:
        """Far enough, or beyond: a run that ended meanwhile is as far as it gets."""
        run = Run.objects.only("state", "rounds_done").get(pk=wanted.pk)
        return run.state not in UNFINISHED or rounds < 0 or run.rounds_done >= rounds

    def over(self, attempt: Attempt) -> bool:
        return Attempt.objects.filter(pk=attempt.pk).exclude(ended=None).exists()

    def wait_for(self, found: Callable[[], Answer | None], what: str = "the run to go on") -> Answer:
        """Also through times without a database."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                if answer := found():
                    return answer
            except (OperationalError, InterfaceError):
                connection.close()
            time.sleep(LOOK_SECONDS)
        raise StuckError(f"Waited {PATIENCE_SECONDS:g} seconds for {what}.")

    def finish(self) -> None:
        self.wait_for(self.finished, "the study to end")

    def finished(self) -> bool:
        waits = Membership.objects.filter(waiting=True).exists()
        return not waits and not Run.objects.filter(state__in=UNFINISHED).exists()

    def demand(self, kept: bool, otherwise: str) -> None:
        if not kept:
            self.problems.append(otherwise)

    def worker_of(self, attempt: Attempt) -> str:
        return attempt.worker.partition("@")[0]
