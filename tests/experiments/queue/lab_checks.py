"""The database held against the model of `lab_model`, and what must be true of it whatever happened."""

from __future__ import annotations

from typing import Any

from django.db import connection

from experiments.models import Study
from experiments.studies.selectors.progress import progress_of
from tests.experiments.queue.lab_model import ACTIVE, LIVE, ModelLab, ModelRun

RUNS = "id, state, cancel_requested, crashes, reason, lease_token, rounds_done, seed, shared"
ATTEMPTS = "run_id, number, token, worker, outcome, checkpoint_round, ended IS NULL"


def check_database(model: ModelLab) -> None:
    assert rows(RUNS, "run") == sorted(expected(pk, run) for pk, run in model.runs.items())
    memberships_wait_exactly_while_their_run_is_queued(model)
    attempts_end_when_their_run_does(model)
    every_round_is_there_once(model)
    progress_counts_as_modelled(model)
    nothing_is_stuck()


def rows(fields: str, table: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {fields} FROM experiments_{table} ORDER BY 1, 2")
        return list(cursor.fetchall())


def expected(pk: int, run: ModelRun) -> tuple[object, ...]:
    rounds_done = max(run.rounds, default=0)
    return (pk, run.state, run.leaving, run.crashes, run.reason, run.token, rounds_done, run.kind, run.shared)


def memberships_wait_exactly_while_their_run_is_queued(model: ModelLab) -> None:
    assert rows("study_id, position, run_id, waiting", "membership") == sorted(
        (pk, place, run, model.runs[run].state == "queued")
        for pk, study in model.studies.items()
        for place, run in enumerate(study.runs)
    )


def attempts_end_when_their_run_does(model: ModelLab) -> None:
    assert rows(ATTEMPTS, "attempt") == sorted(
        (pk, number, each.token, each.worker, each.outcome, each.checkpoint, each.token == run.token)
        for pk, run in model.runs.items()
        for number, each in enumerate(run.attempts, 1)
    )


def every_round_is_there_once(model: ModelLab) -> None:
    rounds = sorted((pk, number) for pk, run in model.runs.items() for number in run.rounds)
    assert rows("run_id, round", "round") == rounds
    assert rows("run_id, round, value", "metric") == [(pk, each, each / 4) for pk, each in rounds]


def progress_counts_as_modelled(model: ModelLab) -> None:
    studies = list(Study.objects.all())
    assert {study.pk for study in studies} == set(model.listed())
    for pk, progress in progress_of(studies).items():
        held, counts = model.studies[pk], model.counts(pk)
        assert (progress.counts, progress.state) == (counts, held.state(counts))
        assert progress.rounds_done == sum(max(model.runs[run].rounds, default=0) for run in held.runs)
        assert progress.rounds_total == 3 * len(held.runs)
        assert (progress.paused, progress.cancelled) == (held.paused, held.cancelled)


def nothing_is_stuck() -> None:
    """Said without the model, in case it shares a mistake with the code."""
    fields = """run.id, state, cancel_requested, hash, shared,
        finished IS NULL, lease_token IS NULL, lease_until IS NULL,
        count(study.id), count(study.id) FILTER (WHERE NOT study.cancelled OR study.deleting IS NOT NULL)"""
    held = """run LEFT JOIN experiments_membership AS membership ON membership.run_id = run.id
        LEFT JOIN experiments_study AS study ON study.id = membership.study_id GROUP BY run.id"""
    live = []
    for _, state, leaving, identity, shared, *unset, holders, waiting in rows(fields, f"run AS {held}"):
        assert holders, "a run without a study"
        assert waiting or state not in ACTIVE or leaving, "a run that nobody waits for"
        assert unset == [state in ACTIVE, state != "running", state != "running"], "an end or a lease out of place"
        live += [identity] if shared and state in LIVE else []
    assert len(live) == len(set(live)), "equal runs beside each other"
