"""How far a reader of the event stream has come, and what it missed, read from the database when a stream opens."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Max, Q, QuerySet

from experiments.models import Membership, Round, Run, RunState
from experiments.results.live.notify import headline_metrics
from experiments.results.models import BLOCK_ROUNDS

WINDOW_SECONDS = 15.0
CURSOR_PATTERN = re.compile(r"(\d{1,15}):((?:\d{1,18}\.\d{1,9})(?:,\d{1,18}\.\d{1,9})*)?")


@dataclass(frozen=True)
class Cursor:
    at: float
    marks: Mapping[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{round(self.at * 1000)}:" + ",".join(f"{run}.{number}" for run, number in self.marks.items())


def parse_cursor(text: str) -> Cursor | None:
    """None where a reader is new, or sends what is not a cursor."""
    match = CURSOR_PATTERN.fullmatch(text)
    if match is None:
        return None
    pairs = (pair.split(".") for pair in (match[2] or "").split(",") if pair)
    return Cursor(int(match[1]) / 1000, {int(run): int(number) for run, number in pairs})


Position = tuple[Any, ...]


class Reader:
    """What one reader was told. Each round is told once, however often it is committed or notified."""

    def __init__(self, cursor: Cursor) -> None:
        self.at = cursor.at
        self.last_rounds = dict(cursor.marks)
        # In steps, so that readers who came one after another are soon equally far.
        self.moved_at = dict.fromkeys(cursor.marks, math.ceil(cursor.at / WINDOW_SECONDS) * WINDOW_SECONDS)

    def is_news(self, event: Mapping[str, Any]) -> bool:
        """Takes note of the event; False for a round that the reader has."""
        self.at = max(self.at, event.get("at", 0.0))
        if event["event"] != "metric":
            return True
        run, number = event["run"], event["round"]
        if number <= self.last_rounds.get(run, -1):
            return False
        self.last_rounds[run] = number
        self.moved_at.pop(run, None)  # the latest are last
        self.moved_at[run] = self.at
        return True

    def position(self, runs: Collection[int], begins: float, ends: float) -> Position:
        """All that matters for what this reader is told of those runs in that time, and how."""
        since = max(self.at, ends) - WINDOW_SECONDS
        moments = (self.moved_at.get(run) for run in runs)
        return (
            self.at if self.at > begins else 0.0,
            tuple(self.last_rounds.get(run) for run in runs),
            tuple(moment if moment is None or moment < since else since for moment in moments),
            tuple((run, moment, self.last_rounds[run]) for run, moment in self.moved_at.items() if run not in runs),
        )

    def copy(self) -> Reader:
        twin = Reader(Cursor(self.at))
        twin.last_rounds, twin.moved_at = dict(self.last_rounds), dict(self.moved_at)
        return twin

    def follow(self, other: Reader, runs: Collection[int]) -> None:
        """Goes where a reader of the same position has come by being told of those runs."""
        self.at, self.moved_at = other.at, dict(other.moved_at)
        self.last_rounds |= {run: other.last_rounds[run] for run in runs if run in other.last_rounds}

    @property
    def cursor(self) -> Cursor:
        since = self.at - WINDOW_SECONDS
        while self.moved_at and self.moved_at[oldest := next(iter(self.moved_at))] < since:
            del self.moved_at[oldest]
        return Cursor(self.at, {run: self.last_rounds[run] for run in self.moved_at})


MOST_ROUNDS = 5_000

METRICS_OF_ROUNDS = f"""
SELECT missed.run, missed.round, curve.name, curve.numbers[missed.round]
FROM unnest(%s::bigint[], %s::int[]) AS missed(run, round)
JOIN experiments_curve AS curve ON curve.run_id = missed.run AND curve.block = missed.round / {BLOCK_ROUNDS}
    AND curve.numbers[missed.round] IS NOT NULL
WHERE strpos(curve.name, '.') = 0
"""


@dataclass(frozen=True)
class EventScope:
    """One study, one run, or everything."""

    study: int | None = None
    run: int | None = None

    def covers(self, event: dict[str, Any]) -> bool:
        return (self.study is None or self.study in event["studies"]) and self.run in (None, event.get("run"))

    @property
    def runs(self) -> QuerySet[Run]:
        runs = Run.objects.all()
        if self.study is not None:
            runs = runs.filter(memberships__study=self.study)
        return runs if self.run is None else runs.filter(pk=self.run)


@dataclass(frozen=True)
class StreamStart:
    """Where a stream starts: events to send first, and the cursor before them."""

    cursor: Cursor
    events: Sequence[dict[str, Any]]
    complete: bool = True


def stream_start(scope: EventScope, cursor: Cursor | None) -> StreamStart:
    if cursor is None:
        return StreamStart(current_cursor(scope), [])
    rounds = missed_rounds(scope, cursor)
    if len(rounds) > MOST_ROUNDS:
        return StreamStart(current_cursor(scope), [], complete=False)
    return StreamStart(cursor, [*metric_events(rounds), *state_events(scope, cursor)])


def current_cursor(scope: EventScope) -> Cursor:
    """The position of a reader who has everything that is committed now."""
    now = database_time()
    recent = Round.objects.filter(run__in=scope.runs, committed__gt=window_start(now))
    marks = recent.values_list("run_id").annotate(last=Max("round")).order_by("run_id")
    return Cursor(now.timestamp(), dict(marks))


def database_time() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


def window_start(moment: datetime) -> datetime:
    return moment - timedelta(seconds=WINDOW_SECONDS)


def missed_rounds(scope: EventScope, cursor: Cursor) -> list[tuple[int, int, datetime]]:
    since = window_start(datetime.fromtimestamp(cursor.at, UTC))
    new = Q(committed__gt=since) & ~Q(run_id__in=list(cursor.marks))
    for run, number in cursor.marks.items():
        new |= Q(run_id=run, round__gt=number)
    rounds = Round.objects.filter(new, run__in=scope.runs).order_by("committed", "round")
    return list(rounds.values_list("run_id", "round", "committed")[: MOST_ROUNDS + 1])


def metric_events(rounds: Sequence[tuple[int, int, datetime]]) -> list[dict[str, Any]]:
    runs = {run for run, _, _ in rounds}
    cells = dict(Run.objects.filter(pk__in=runs).values_list("pk", "cell"))
    studies, metrics = studies_of(runs), metrics_of(rounds)
    return [
        {
            "event": "metric",
            "at": committed.timestamp(),
            "run": run,
            "studies": studies[run],
            "cell": cells[run],
            "round": number,
            "metrics": headline_metrics(metrics[run, number]),
        }
        for run, number, committed in rounds
    ]


def metrics_of(rounds: Sequence[tuple[int, int, datetime]]) -> dict[tuple[int, int], dict[str, float]]:
    values: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(METRICS_OF_ROUNDS, [[run for run, _, _ in rounds], [number for _, number, _ in rounds]])
        for run, number, name, value in cursor.fetchall():
            values[run, number][name] = value
    return values


def studies_of(runs: set[int]) -> dict[int, list[int]]:
    studies: dict[int, list[int]] = defaultdict(list)
    for run, study in Membership.objects.filter(run__in=runs).order_by("study").values_list("run_id", "study_id"):
        studies[run].append(study)
    return studies


def state_events(scope: EventScope, cursor: Cursor) -> list[dict[str, Any]]:
    """The states of runs that may have changed: telling one twice does no harm."""
    since = window_start(datetime.fromtimestamp(cursor.at, UTC))
    changed = Q(state=RunState.RUNNING) | Q(finished__gt=since) | Q(pk__in=list(cursor.marks))
    runs = list(scope.runs.filter(changed).order_by("pk")[:MOST_ROUNDS])
    studies = studies_of({run.pk for run in runs})
    return [
        {
            "event": "state",
            "run": run.pk,
            "studies": studies[run.pk],
            "cell": run.cell,
            "state": run.state,
            "rounds_done": run.rounds_done,
            "rounds_total": run.rounds_total,
            "cancelling": run.cancel_requested,
        }
        for run in runs
    ]
