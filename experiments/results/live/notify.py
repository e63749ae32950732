"""The writing side: notifications leave with the transaction that caused them, in the order of commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection

from experiments.core.json_values import json_number

CHANNEL = "tributary"
ACCESS_EVENT = "access"

# PostgreSQL refuses payloads of 8,000 bytes, so per-class and per-method metrics (named with a dot) are left to reads.
NOTIFY = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"

NOTIFY_STATES = """
SELECT pg_notify(%s, json_build_object(
    'event', 'state', 'at', extract(epoch FROM clock_timestamp()), 'run', id, 'cell', cell, 'state', state,
    'rounds_done', rounds_done, 'rounds_total', rounds_total, 'cancelling', cancel_requested,
    'studies', ARRAY(SELECT study_id FROM experiments_membership WHERE run_id = experiments_run.id ORDER BY 1)
)::text) FROM experiments_run WHERE id = ANY(%s)
"""


NOTIFY_STUDY = """
SELECT pg_notify(%s, json_build_object(
    'event', 'study', 'at', extract(epoch FROM clock_timestamp()), 'study', %s::bigint,
    'studies', json_build_array(%s::bigint), 'change', %s::text
)::text)
"""


def headline_metrics(metrics: Mapping[str, float]) -> dict[str, float | str]:
    return {name: json_number(value) for name, value in metrics.items() if "." not in name}


def notify_rounds(*, run: int, cell: str, studies: Sequence[int], at: float, rounds: Iterable[tuple[int, Any]]) -> None:
    payloads = [
        json.dumps(
            {
                "event": "metric",
                "at": at,
                "run": run,
                "studies": studies,
                "cell": cell,
                "round": round_number,
                "metrics": headline_metrics(metrics),
            }
        )
        for round_number, metrics in rounds
    ]
    with connection.cursor() as cursor:
        cursor.execute(NOTIFY, [CHANNEL, payloads])


def notify_states(runs: Iterable[int]) -> None:
    """Tells each run's state as it is in this transaction now."""
    with connection.cursor() as cursor:
        cursor.execute(NOTIFY_STATES, [CHANNEL, list(runs)])


def notify_study(study: int, change: str) -> None:
    """Something about a study as a whole changed: launched, paused, resumed, cancelled, retried, edited, deleted."""
    with connection.cursor() as cursor:
        cursor.execute(NOTIFY_STUDY, [CHANNEL, study, study, change])


def notify_access() -> None:
    """Somebody's rights, tokens or password changed: open streams are looked at again."""
    with connection.cursor() as cursor:
        cursor.execute(NOTIFY, [CHANNEL, [json.dumps({"event": ACCESS_EVENT})]])
