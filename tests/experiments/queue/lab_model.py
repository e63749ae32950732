"""What the queue should hold, worked out a second time without the database: the model of `test_state_machine`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

LIVE, ACTIVE, ENDED_BADLY = {"queued", "running", "done"}, {"queued", "running"}, {"failed", "cancelled"}
TRIES = 3


@dataclass
class ModelAttempt:
    token: UUID
    worker: str
    outcome: str = ""
    checkpoint: int | None = None


@dataclass
class ModelRun:
    kind: int
    shared: bool
    state: str = "queued"
    leaving: bool = False
    crashes: int = 0
    reason: str = ""
    begun: bool = False
    rounds: set[int] = field(default_factory=set)
    attempts: list[ModelAttempt] = field(default_factory=list)

    @property
    def token(self) -> UUID | None:
        return self.attempts[-1].token if self.state == "running" else None

    def end(self, state: str, outcome: str, reason: str = "") -> None:
        self.attempts[-1].outcome = outcome
        self.state, self.leaving, self.reason = state, False, reason

    def release(self) -> None:
        self.end(*(("cancelled", "cancelled") if self.leaving else ("queued", "released")))

    def lose(self, reason: str) -> None:
        """With its worker. What had only been claimed ahead is not counted."""
        if self.begun:
            self.try_again("lost", reason)
        else:
            self.release()

    def try_again(self, outcome: str, reason: str) -> None:
        if self.leaving:
            self.end("cancelled", "cancelled")
            return
        self.crashes += 1
        tired = self.crashes == TRIES
        self.end("failed" if tired else "queued", outcome, f"{reason} Given up after 3 attempts." if tired else "")

    def save(self, number: int) -> None:
        """A checkpoint that is further than all before it forgives crashes."""
        if number > max((each.checkpoint for each in self.attempts if each.checkpoint is not None), default=-1):
            self.crashes = 0
        self.attempts[-1].checkpoint = number

    def stop(self) -> None:
        if self.state == "queued":
            self.state = "cancelled"
        elif self.state == "running":
            self.leaving = True

    def requeue(self) -> None:
        self.state, self.crashes, self.reason = "queued", 0, ""


@dataclass
class ModelStudy:
    owner: str
    runs: list[int]
    paused: bool = False
    cancelled: bool = False
    deleting: bool = False

    def state(self, counts: Counter[str]) -> str:
        if self.cancelled and counts["done"] < len(self.runs):
            return "cancelled"
        if self.paused and counts["queued"]:
            return "paused"
        return next(state for state in ("running", "queued", "failed", "cancelled", "done") if counts[state])


@dataclass
class ModelLab:
    """People are `mia` and `noor` (members), `ada` (admin) and `vic` (viewer)."""

    runs: dict[int, ModelRun] = field(default_factory=dict)
    studies: dict[int, ModelStudy] = field(default_factory=dict)

    def may(self, actor: str, study: int) -> bool:
        return actor == "ada" or self.studies[study].owner == actor

    def holders(self, run: int) -> list[int]:
        return [pk for pk, study in self.studies.items() if run in study.runs]

    def managed(self, run: int) -> list[int]:
        return [pk for pk in self.holders(run) if not self.studies[pk].deleting]

    def listed(self) -> list[int]:
        return sorted(pk for pk, study in self.studies.items() if not study.deleting)

    def wanting(self, run: int) -> list[int]:
        return [pk for pk in self.holders(run) if not self.studies[pk].cancelled]

    def may_cancel(self, actor: str, run: int) -> bool:
        """Everyone's who waits for it must be the person's; where nobody does, one of its studies."""
        if wanting := self.wanting(run):
            return all(self.may(actor, pk) for pk in wanting)
        return self.may_retry(actor, run)

    def may_retry(self, actor: str, run: int) -> bool:
        return any(self.may(actor, pk) for pk in self.managed(run))

    def live(self, kind: int) -> int | None:
        """The one run that studies with reuse share."""
        return next(
            (pk for pk, run in self.runs.items() if run.kind == kind and run.shared and run.state in LIVE), None
        )

    def claimable(self) -> set[int]:
        ready = {pk for pk, study in self.studies.items() if not study.paused and not study.cancelled}
        return {pk for pk, run in self.runs.items() if run.state == "queued" and ready & set(self.holders(pk))}

    def untried(self) -> set[int]:
        return {pk for pk in self.claimable() if not self.runs[pk].attempts}

    def launch(self, pk: int, owner: str, kinds: Sequence[int], reuse: bool, got: Sequence[int]) -> None:
        for kind, run in zip(kinds, got, strict=True):
            shared = self.live(kind) if reuse else None
            if shared is None:
                assert run not in self.runs
                self.runs[run] = ModelRun(kind, reuse)
            else:
                assert run == shared
                self.runs[run].leaving = False
        self.studies[pk] = ModelStudy(owner, list(got))

    def cancel(self, study: int) -> None:
        self.studies[study].cancelled = True
        self.stop_unwanted(self.studies[study].runs)

    def request_deletion(self, study: int) -> list[int]:
        """The runs that only it holds; those at work are asked to stop."""
        held = self.studies[study]
        held.deleting = held.cancelled = True
        own = [pk for pk in held.runs if self.holders(pk) == [study]]
        for pk in own:
            if self.runs[pk].state == "running":
                self.runs[pk].stop()
        return own

    def delete(self, study: int) -> list[int]:
        held = self.studies.pop(study).runs
        gone = [pk for pk in held if not self.holders(pk)]
        for pk in gone:
            del self.runs[pk]
        self.stop_unwanted(pk for pk in held if pk in self.runs)
        return gone

    def stop_unwanted(self, runs: Iterable[int]) -> None:
        for pk in runs:
            if not self.wanting(pk):
                self.runs[pk].stop()

    def retry(self, study: int, reason: str | None) -> int:
        """How many runs are at it again; one whose equal lives elsewhere is that one from now on."""
        held = self.studies[study]
        held.cancelled = False
        again = 0
        for place, pk in enumerate(held.runs):
            run = self.runs[pk]
            if reason is None and run.leaving:
                run.leaving, again = False, again + 1
            if run.state not in ENDED_BADLY or (reason is not None and run.reason != reason):
                continue
            equal = self.live(run.kind) if run.shared else None
            if equal is None:
                run.requeue()
                again += 1
            else:
                again += self.runs[equal].leaving
                self.swap(held, place, equal)
        return again

    def swap(self, held: ModelStudy, place: int, equal: int) -> None:
        old, held.runs[place] = held.runs[place], equal
        self.runs[equal].leaving = False
        if not self.holders(old):
            del self.runs[old]

    def retry_run(self, actor: str, pk: int) -> None:
        self.runs[pk].requeue()
        for study in self.managed(pk):
            if self.may(actor, study):
                self.studies[study].cancelled = False

    def retriable(self, pk: int) -> bool:
        run = self.runs[pk]
        return run.state in ENDED_BADLY and not (run.shared and self.live(run.kind))

    def counts(self, study: int) -> Counter[str]:
        return Counter(self.runs[pk].state for pk in self.studies[study].runs)

    def words(self, study: int) -> set[str]:
        """What may be said of its runs."""
        leaving = any(self.runs[pk].leaving for pk in self.studies[study].runs)
        return {*self.counts(study), *(["leaving"] if leaving else [])}
