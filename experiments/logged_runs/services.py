"""A script's run: begun once, told round by round, and ended. Whatever is sent twice is kept once.

A logged run is stored as a run of an app whose name is the script's and whose config is the script's: its keys are axes
(`app.KEY`) wherever those of apps are. It holds a lease of its own while it is at work, and no worker ever claims it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Max
from django.db.models.functions import Greatest, Now

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_launch, require_some_holder
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import ConflictError
from experiments.core.json_values import json_safe, plain_text
from experiments.models import Attempt, Membership, Outcome, Round, Run, RunState, Study, User
from experiments.queue.services.leases import end_attempt, insert_rounds
from experiments.queue.services.runs import refresh_run
from experiments.results.live.notify import notify_rounds, notify_states, notify_study
from experiments.studies.services.launch import require_room
from workers.engine.records import RoundRecord
from workers.errors import Problem, SpecError
from workers.spec import LOGGED, is_logged

ORIGIN = "logged"
DESCRIPTION = "Runs of a script, logged from where it ran: not computed here, and not repeatable from here."
NOT_LOGGED = "Run {run} was computed here: only logged runs are told from outside."
ENDED = "Run {run} is {state}: nothing is added to it any more."
MOST_CONFIG_KEYS, MOST_METRICS, MOST_ROUNDS, MOST_NAME, MOST_TEXT = 200, 1000, 5000, 100, 2000
MOST_CONFIG_TEXT = 50_000
"""Characters of a whole config: every run has its own, and a page reads those of thousands of runs."""


@dataclass(frozen=True)
class LoggedRound:
    round: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class LoggedStart:
    """`key` is the sender's own word for the run: sent again with it, the same run is answered."""

    study: str
    script: str
    config: Mapping[str, bool | int | float | str]
    seed: int
    key: str
    provenance: Mapping[str, Any]


def logged_run_start(*, owner: User, start: LoggedStart) -> tuple[Run, Study, bool]:
    """The run, the study that holds it, and whether it is new. Runs of one person and study name are together."""
    require_launch(owner)
    if problems := start_problems(start):
        raise SpecError(problems)
    spec = logged_spec(start)
    identity = run_identity(owner, start.key or uuid4().hex)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        before = Run.objects.filter(hash=identity).first()
        if before is not None:
            return before, same_start(before, spec), False
        require_room(owner, 1)
        study = logged_study(owner, start.study)
        require_room_in(study, 1)
        run = create_run(identity, spec, start)
        add_members(study, [run])
        notify_study(study.pk, "launched")
        notify_states([run.pk])
        audit_record(actor=owner, action="run.log", subject=f"run {run.pk}", study=study.pk)
    return run, study, True


def run_identity(owner: User, key: str) -> str:
    return digest(["logged", owner.pk, key])


def start_problems(start: LoggedStart) -> list[Problem]:
    checks = [
        (not start.study.strip(), "study", "A run belongs to a study: give its name."),
        (len(start.config) > MOST_CONFIG_KEYS, "config", f"At most {MOST_CONFIG_KEYS} keys."),
        (config_letters(start) > MOST_CONFIG_TEXT, "config", f"At most {MOST_CONFIG_TEXT:,} characters in all."),
    ]
    problems = [Problem(path, message) for wrong, path, message in checks if wrong]
    for key, value in start.config.items():
        if not key.strip() or len(key) > MOST_NAME:
            problems.append(Problem(f"config.{key[:MOST_NAME]}", f"A key has 1 to {MOST_NAME} characters."))
        elif isinstance(value, float) and not math.isfinite(value):
            problems.append(Problem(f"config.{key}", "Not a finite number: give it as text."))
        elif isinstance(value, str) and len(value) > MOST_TEXT:
            problems.append(Problem(f"config.{key}", f"At most {MOST_TEXT} characters."))
    for key, text in start.provenance.items():
        if len(key) > MOST_NAME or len(str(text)) > MOST_TEXT:
            problems.append(Problem(f"provenance.{key[:MOST_NAME]}", f"At most {MOST_TEXT} characters."))
    return problems


def config_letters(start: LoggedStart) -> int:
    return sum(len(key) + len(str(value)) for key, value in start.config.items())


def logged_spec(start: LoggedStart) -> dict[str, Any]:
    config = {
        plain_text(key): plain_text(value) if isinstance(value, str) else value for key, value in start.config.items()
    }
    name = plain_text(start.script.strip()) or "script"
    return {"app": {"name": name, "config": dict(sorted(config.items()))}, "seed": start.seed, LOGGED: True}


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def same_start(run: Run, spec: Mapping[str, Any]) -> Study:
    if run.spec != spec:
        raise SpecError([Problem("key", "This key was used for a run with another config or seed: take a new one.")])
    study = run.studies.filter(origin=ORIGIN).first()
    if study is None:
        raise ConflictError("The study of this run was deleted: begin a new run.")
    return study


def logged_study(owner: User, name: str) -> Study:
    name = plain_text(name.strip())[:200]
    study = Study.objects.filter(owner=owner, origin=ORIGIN, name=name, archived=None).order_by("-pk").first()
    return study or Study.objects.create(
        owner=owner, name=name, origin=ORIGIN, description=DESCRIPTION, tags=[ORIGIN], blocks=[]
    )


def require_room_in(study: Study, new: int) -> None:
    if study.memberships.count() + new > settings.MAX_RUNS:
        message = f"A study has at most {settings.MAX_RUNS:,} runs: give another name."
        raise SpecError([Problem("study", message)], message)


def create_run(identity: str, spec: dict[str, Any], start: LoggedStart) -> Run:
    token = uuid4()
    run = Run.objects.create(
        hash=identity,
        cell=digest(["logged", spec["app"]]),
        spec=spec,
        seed=start.seed,
        shared=False,
        state=RunState.RUNNING,
        rounds_total=1,
        provenance={LOGGED: json_safe(start.provenance)},
        lease_token=token,
        lease_until=Now() + timedelta(seconds=settings.LOGGED_SILENCE),
        started=Now(),
    )
    host = plain_text(str(start.provenance.get("host", "")))[:200]
    Attempt.objects.create(run=run, number=1, token=token, worker=host, started=Now())
    return run


def add_members(study: Study, runs: Sequence[Run]) -> None:
    """The study's blocks say what it holds, a block for each cell."""
    last = Membership.objects.filter(study=study).aggregate(last=Max("position"))["last"]
    first = 0 if last is None else last + 1
    Membership.objects.bulk_create(
        Membership(study=study, run=run, position=place, turn=place) for place, run in enumerate(runs, start=first)
    )
    blocks = {digest(each["app"]): each for each in study.blocks}
    for run in runs:
        block = blocks.setdefault(digest(run.spec["app"]), {"app": run.spec["app"], "seeds": []})
        if run.seed not in block["seeds"]:
            block["seeds"] = sorted([*block["seeds"], run.seed])
    study.blocks = list(blocks.values())
    study.save(update_fields=["blocks"])


def logged_rounds_record(*, actor: User, run: Run, rounds: Sequence[LoggedRound]) -> Run:
    """Values of a round that came before stay unless they are sent again. One that fell silent goes on."""
    require_sound(rounds)
    with transaction.atomic():
        lock_logged(actor, run)
        if run.state == RunState.DONE:
            require_known(run, rounds)
            return run
        if run.cancel_requested:
            end_attempt(run, RunState.CANCELLED, Outcome.CANCELLED)
            return refresh_run(run)
        go_on(run)
        merged: dict[int, dict[str, float]] = {}
        for each in rounds:
            merged.setdefault(each.round, {}).update(each.metrics)
        add_values(run, merged)
    return refresh_run(run)


def add_values(run: Run, merged: Mapping[int, Mapping[str, float]]) -> None:
    """A round that is there keeps what it has besides."""
    if not merged:
        return
    last = max(merged)
    Run.objects.filter(pk=run.pk).update(
        rounds_done=Greatest(F("rounds_done"), last),
        rounds_total=Greatest(F("rounds_total"), last),
        lease_until=Now() + timedelta(seconds=settings.LOGGED_SILENCE),
    )
    records = [RoundRecord(round=number, metrics=dict(metrics)) for number, metrics in sorted(merged.items())]
    insert_rounds(run.pk, records)
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        at = cursor.fetchone()[0]
    studies = list(run.memberships.order_by("study_id").values_list("study_id", flat=True))
    notify_rounds(run=run.pk, cell=run.cell, studies=studies, at=at, rounds=sorted(merged.items()))


def require_sound(rounds: Sequence[LoggedRound]) -> None:
    problems = [Problem(each.path.removeprefix("rounds."), each.message) for each in round_problems(rounds)]
    if len(rounds) > MOST_ROUNDS:
        problems.append(Problem("", f"At most {MOST_ROUNDS:,} rounds at once: send the others after them."))
    if problems:
        raise SpecError(problems)


def round_problems(rounds: Sequence[LoggedRound]) -> list[Problem]:
    problems = [
        Problem(f"rounds.{place}.metrics.{name[:MOST_NAME]}", f"A metric's name has 1 to {MOST_NAME} characters.")
        for place, each in enumerate(rounds)
        for name in each.metrics
        if not name.strip() or len(name) > MOST_NAME or name != plain_text(name)
    ]
    problems += [
        Problem(f"rounds.{place}.metrics", f"At most {MOST_METRICS} values a round.")
        for place, each in enumerate(rounds)
        if len(each.metrics) > MOST_METRICS
    ]
    if len({name for each in rounds for name in each.metrics}) > MOST_METRICS:
        problems.append(Problem("", f"At most {MOST_METRICS} metrics."))
    return problems


def lock_logged(actor: User, run: Run) -> None:
    refresh_run(run)
    require_some_holder(actor, run)
    if not is_logged(run.spec):
        raise ConflictError(NOT_LOGGED.format(run=run.pk))
    Run.objects.select_for_update().filter(pk=run.pk).first()
    refresh_run(run)


def require_known(run: Run, rounds: Sequence[LoggedRound]) -> None:
    """A sender that was cut off before it heard of the end says everything once more."""
    known = set(Round.objects.filter(run=run).values_list("round", flat=True))
    if any(each.round not in known for each in rounds):
        raise ConflictError(ENDED.format(run=run.pk, state=run.state))


def go_on(run: Run) -> None:
    """One that fell silent for too long, or failed, is at work again; one that somebody cancelled is not."""
    if run.state == RunState.RUNNING:
        return
    if run.state == RunState.CANCELLED:
        raise ConflictError(ENDED.format(run=run.pk, state=run.state))
    run.state, run.reason, run.finished, run.lease_token = RunState.RUNNING, "", None, uuid4()
    run.lease_until = Now() + timedelta(seconds=settings.LOGGED_SILENCE)
    run.save(update_fields=["state", "reason", "finished", "lease_token", "lease_until"])
    number = 1 + (run.attempts.aggregate(last=Max("number"))["last"] or 0)
    Attempt.objects.create(run=run, number=number, token=run.lease_token, worker="", started=Now())
    notify_states([run.pk])


def logged_run_finish(*, actor: User, run: Run, failed: bool = False, reason: str = "") -> Run:
    """Ended again in the same way, nothing happens."""
    state = RunState.FAILED if failed else RunState.DONE
    with transaction.atomic():
        lock_logged(actor, run)
        if run.state == state:
            return run
        if run.state == RunState.DONE:
            raise ConflictError(ENDED.format(run=run.pk, state=run.state))
        if run.cancel_requested:
            end_attempt(run, RunState.CANCELLED, Outcome.CANCELLED)
            return refresh_run(run)
        go_on(run)
        run.rounds_total = max(1, run.rounds_done)
        end_attempt(run, state, Outcome.FAILED if failed else Outcome.DONE, reason)
    return refresh_run(run)
