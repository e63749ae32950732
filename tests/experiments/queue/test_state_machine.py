"""Cancel, pause, resume, retry and delete in whatever state, between claims, rounds, ends and losses of leases.

Hypothesis does these in any order to studies that share runs; after each step the database must hold what the model of
`lab_model` holds, and what must always be true.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now
from hypothesis import strategies as some
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from experiments.core.errors import ConflictError, GoneError, NotAllowedError, StaleLeaseError
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import AuditEntry, Run, Study, User
from experiments.queue.services import bulk, leases
from experiments.queue.services.claim import claim_runs, run_claim, runs_reap
from experiments.queue.services.retry import run_retry
from experiments.queue.services.runs import run_cancel
from experiments.queue.services.workers import worker_enlist
from experiments.studies.services import changes
from experiments.studies.services.deletion import study_delete
from experiments.studies.services.launch import study_launch
from tests.experiments.queue.lab_actions import ACTIONS, BOUNDS, always, lab_action, likely, raises_if
from tests.experiments.queue.lab_checks import check_database
from tests.experiments.queue.lab_model import ACTIVE, ModelAttempt, ModelLab, ModelRun
from workers.engine.records import RoundRecord

ROLES = {"mia": "member", "noor": "member", "ada": "admin", "vic": "viewer"}
WORKERS = ["one@lab", "two@lab"]
SILENT, RESTARTED = "Its worker fell silent for 30 seconds.", "Worker {} was restarted."
REASONS = ["Out of luck.", "Out of disk."]
BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": {"name": "fedavg"},
    "clients": 3,
    "rounds": 3,
}

people = some.sampled_from([*["holder"] * 6, "mia", "noor", "ada", "vic"])
"""The holder is whoever owns the study, or one of the run's."""
members = some.sampled_from(["mia", "noor"])
places = some.integers(0, 49)


class LabMachine(RuleBasedStateMachine):
    """All of one example is one transaction, which is rolled back: nothing is left for the next."""

    def __init__(self) -> None:
        super().__init__()
        self.example = transaction.atomic()
        self.example.__enter__()
        self.people = {name: User.objects.create(username=name, role=role) for name, role in ROLES.items()}
        self.workers = {name: self.enlist(name) for name in WORKERS}
        self.model = ModelLab()
        self.claims: list[leases.Claim] = []
        self.deleting: list[int] = []
        self.deleted: list[Study] = []
        self.deleted_runs: list[Run] = []
        self.actions: Counter[str] = Counter()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.example.__exit__(None, None, None)

    def enlist(self, name: str) -> Any:
        return worker_enlist(name=name, host="lab", device="cpu", threads=1)

    def study_at(self, place: int, actor: str, *states: str) -> tuple[Study, str]:
        """One of them, rather one that has runs in such a state; and who acts."""
        candidates = [pk for pk in self.model.listed() if set(states) & self.model.words(pk)]
        pk = likely(place, candidates, self.model.listed())
        return Study.objects.get(pk=pk), self.model.studies[pk].owner if actor == "holder" else actor

    def run_at(self, place: int, actor: str, *states: str) -> tuple[Run, str]:
        candidates = [pk for pk in sorted(self.model.runs) if self.model.runs[pk].state in states]
        pk = likely(place, candidates, sorted(self.model.runs))
        owner = self.model.studies[self.model.holders(pk)[place % len(self.model.holders(pk))]].owner
        return Run.objects.get(pk=pk), owner if actor == "holder" else actor

    def claim_at(self, place: int) -> tuple[leases.Claim, ModelRun | None]:
        """Any claim there ever was, rather one that counts; and its run where the lease still is the claim's."""
        current = {run.token: run for run in self.model.runs.values() if run.token}
        claim = likely(place, [each for each in self.claims if each.token in current], self.claims)
        return claim, current.get(claim.token)

    def allowed(self, actor: str, study: Study) -> bool:
        return self.model.may(actor, study.pk)

    # People

    @initialize()
    def launch_two_that_share_their_runs(self) -> None:
        self.launch_kinds("mia", [0, 1])
        self.launch_kinds("noor", [0, 1])
        self.claim_one(WORKERS[0])

    @lab_action(
        lambda self: len(self.model.studies) < 4,
        owner=members,
        seeds=some.sets(some.sampled_from([0, 1]), min_size=1),
        reuse=some.sampled_from([1, 1, 1, 0]),
    )
    def launch(self, owner: str, seeds: set[int], reuse: int) -> None:
        self.launch_kinds(owner, sorted(seeds), bool(reuse))

    def launch_kinds(self, owner: str, kinds: list[int], reuse: bool = True) -> None:
        blocks = [{**BLOCK, "seeds": kinds}]
        study = study_launch(owner=self.people[owner], name="A study", blocks=blocks, reuse=reuse)
        got = list(study.memberships.order_by("position").values_list("run", flat=True))
        self.model.launch(study.pk, owner, kinds, reuse, got)
        self.actions["study.launch"] += 1

    @lab_action(
        lambda self: self.model.listed(),
        place=places,
        actor=people,
        action=some.sampled_from(["cancel", "cancel", "pause", "resume"]),
        many=some.booleans(),
    )
    def change(self, place: int, actor: str, action: str, many: bool) -> None:
        study, actor = self.study_at(place, actor, "queued", "running")
        may = self.allowed(actor, study)
        if many and actor != "vic":
            outcome = bulk.studies_change(studies=[study.pk], actor=self.people[actor], action=action)
            assert outcome.done == may
        else:
            with raises_if(None if may else NotAllowedError):
                bulk.STUDY_ACTIONS[action](study=study, actor=self.people[actor])
        if may:
            self.actions[f"study.{action}"] += 1
        if may and action == "cancel":
            self.model.cancel(study.pk)
        elif may:
            self.model.studies[study.pk].paused = action == "pause"

    @lab_action(
        lambda self: self.model.listed(), place=places, actor=people, reason=some.sampled_from([None, None, *REASONS])
    )
    def retry(self, place: int, actor: str, reason: str | None) -> None:
        study, actor = self.study_at(place, actor, "failed", "cancelled", "leaving")
        may = self.allowed(actor, study)
        with raises_if(None if may else NotAllowedError):
            again = changes.study_retry(study=study, actor=self.people[actor], reason=reason)
        if may:
            assert again == self.model.retry(study.pk, reason)
            self.actions["study.retry"] += 1

    @lab_action(
        lambda self: self.model.listed(), place=places, actor=people, wrong=some.sampled_from([None, 0, 0, 0, 1])
    )
    def delete(self, place: int, actor: str, wrong: int | None) -> None:
        study, actor = self.study_at(place, actor, "queued", "running")
        own = [pk for pk in self.model.studies[study.pk].runs if len(self.model.holders(pk)) == 1]
        expected = None if wrong is None else len(own) + wrong
        error = NotAllowedError if not self.allowed(actor, study) else ConflictError if wrong else None
        with raises_if(error):
            going = study_delete(study=Study.objects.get(pk=study.pk), actor=self.people[actor], expected=expected)
        if error is None:
            assert self.model.request_deletion(study.pk) == own
            assert going == len(own)
            self.deleting.append(study.pk)
            self.deleted.append(study)
            self.actions["study.delete"] += 1

    @lab_action(lambda self: self.deleting)
    def keep_house(self) -> None:
        """What was launched meanwhile may hold some of the runs by now."""
        assert jobs_carry_out() == len(self.deleting)
        for study in self.deleting:
            self.deleted_runs += [Run(pk=pk) for pk in self.model.delete(study)]
        self.deleting.clear()

    @lab_action(
        lambda self: self.deleted,
        place=places,
        action=some.sampled_from(["cancel", "pause", "resume", "retry", "delete", "update"]),
    )
    def come_too_late(self, place: int, action: str) -> None:
        """The page still shows what somebody deleted."""
        study = self.deleted[place % len(self.deleted)]
        service = study_delete if action == "delete" else getattr(changes, f"study_{action}")
        with pytest.raises(GoneError):
            service(study=study, actor=self.people["ada"])
        for run in self.deleted_runs:
            with pytest.raises(GoneError):
                (run_cancel if place % 2 else run_retry)(run=run, actor=self.people["mia"])

    @lab_action(lambda self: self.model.runs, place=places, actor=people, many=some.booleans())
    def cancel_run(self, place: int, actor: str, many: bool) -> None:
        run, actor = self.run_at(place, actor, "queued", "running")
        may, can = self.model.may_cancel(actor, run.pk), self.model.runs[run.pk].state in ACTIVE
        if many and actor != "vic":
            assert bulk.runs_cancel(runs=[run.pk], actor=self.people[actor]).done == (may and can)
        else:
            with raises_if(NotAllowedError if not may else None if can else ConflictError):
                run_cancel(run=run, actor=self.people[actor])
        if may and can:
            self.model.runs[run.pk].stop()
        if (may and can) or (many and actor != "vic"):
            self.actions["run.cancel"] += 1

    @lab_action(lambda self: self.model.runs, place=places, actor=people, many=some.booleans())
    def retry_run(self, place: int, actor: str, many: bool) -> None:
        run, actor = self.run_at(place, actor, "failed", "cancelled")
        may, can = self.model.may_retry(actor, run.pk), self.model.retriable(run.pk)
        if many and actor != "vic":
            assert bulk.runs_retry(runs=[run.pk], actor=self.people[actor]).done == (may and can)
        else:
            with raises_if(NotAllowedError if not may else None if can else ConflictError):
                run_retry(run=run, actor=self.people[actor])
        if may and can:
            self.model.retry_run(actor, run.pk)
        if (may and can) or (many and actor != "vic"):
            self.actions["run.retry"] += 1

    # Workers

    @lab_action(always, names=some.lists(some.sampled_from(WORKERS), min_size=1, max_size=3))
    def claim(self, names: list[str]) -> None:
        for name in names:
            self.claim_one(name)

    def claim_one(self, name: str) -> None:
        ready = self.model.claimable()
        claim = run_claim(worker=self.workers[name])
        assert (claim is None) == (not ready)
        if claim:
            assert claim.run in ready
            run = self.model.runs[claim.run]
            known = [
                (each.checkpoint, number) for number, each in enumerate(run.attempts) if each.checkpoint is not None
            ]
            assert claim.resume == tuple(f"attempt-{number}" for _, number in sorted(known, reverse=True))
            self.take(claim, name, begun=True)

    @lab_action(always, name=some.sampled_from(WORKERS))
    def claim_ahead(self, name: str) -> None:
        ready = self.model.untried()
        claims = claim_runs(self.workers[name], lambda study: 2, ahead=True)
        assert bool(claims) == bool(ready)
        for claim in claims:
            assert claim.run in ready
            assert claim.resume == ()
            self.take(claim, name, begun=False)

    def take(self, claim: leases.Claim, name: str, *, begun: bool) -> None:
        run = self.model.runs[claim.run]
        run.state, run.begun = "running", begun
        run.attempts.append(ModelAttempt(claim.token, name))
        assert claim.attempt == len(run.attempts)
        self.claims.append(claim)

    @lab_action(lambda self: self.claims, place=places, rounds=some.lists(some.integers(0, 3), min_size=1, max_size=3))
    def commit(self, place: int, rounds: list[int]) -> None:
        claim, run = self.claim_at(place)
        records = [RoundRecord(number, {"accuracy": number / 4}, (0,), {}) for number in rounds]
        with raises_if(None if run else StaleLeaseError):
            instructions = leases.rounds_record(claim=claim, records=records)
        with raises_if(None if run else StaleLeaseError):
            leases.checkpoint_record(claim=claim, path=f"attempt-{claim.attempt - 1}", round_number=rounds[-1])
        if run:
            run.begun = True
            run.rounds |= set(rounds)
            run.save(rounds[-1])
            assert instructions == leases.Instructions(cancel=run.leaving, drain=False)

    @lab_action(
        lambda self: self.claims,
        place=places,
        how=some.sampled_from(["finish", "fail", "release", "crash", "crash"]),
        why=places,
    )
    def end(self, place: int, how: str, why: int) -> None:
        claim, run = self.claim_at(place)
        reason = REASONS[why % len(REASONS)]
        details: dict[str, Any] = {"provenance": {}} if how == "finish" else {"reason": reason}
        with raises_if(None if run else StaleLeaseError):
            getattr(leases, f"run_{how}")(claim=claim, **details)
        if not run:
            return
        if how == "finish":
            run.end("done", "done")
        elif how == "fail":
            run.end("failed", "failed", reason)
        elif how == "crash":
            run.try_again("crashed", reason)
        else:
            run.release()

    @lab_action(lambda self: self.claims, place=places)
    def lose_lease(self, place: int) -> None:
        claim, run = self.claim_at(place)
        Run.objects.filter(lease_token=claim.token).update(lease_until=Now() - timedelta(seconds=1))
        assert runs_reap() == (run is not None)
        if run:
            run.lose(SILENT)

    @lab_action(always, name=some.sampled_from(WORKERS))
    def restart_worker(self, name: str) -> None:
        self.workers[name] = self.enlist(name)
        for run in self.model.runs.values():
            if run.state == "running" and run.attempts[-1].worker == name:
                run.lose(RESTARTED.format(name))

    @rule(data=some.data())
    def act(self, data: some.DataObject) -> None:
        chosen = data.draw(some.sampled_from([each for each in ACTIONS if each.possible(self)]))
        getattr(self, chosen.name)(**{name: data.draw(strategy, name) for name, strategy in chosen.arguments.items()})

    @invariant()
    def the_database_holds_what_the_model_holds(self) -> None:
        check_database(self.model)
        assert Counter(AuditEntry.objects.values_list("action", flat=True)) == self.actions


def test_every_order_of_actions_and_accidents_leaves_the_lab_in_order(db: None) -> None:
    run_state_machine_as_test(LabMachine, settings=BOUNDS)
