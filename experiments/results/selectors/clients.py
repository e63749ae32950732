"""The clients of a run: how often each took part, its latest numbers, and one number of many over the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

PAGE = 50
MOST_VALUES = 50_000
"""Rounds times clients of which the latest numbers are searched: of more, only the latest rounds."""

PARTICIPATION = """
SELECT client, count(*) FROM experiments_round, unnest(cohort) AS client WHERE run_id = %s GROUP BY client
"""
EVERYONE = """
SELECT client FROM experiments_round, unnest(cohort) AS client WHERE run_id = %(run)s
UNION SELECT key::int FROM experiments_round, jsonb_object_keys(clients) AS key
WHERE run_id = %(run)s AND round <= %(early)s ORDER BY 1
"""
LATEST = """
SELECT DISTINCT ON (client.key, number.key) client.key::int, number.key, number.value
FROM experiments_round AS round, jsonb_each(round.clients) AS client, jsonb_each(client.value) AS number
WHERE round.run_id = %s AND round.round >= %s
ORDER BY client.key, number.key, round.round DESC
"""
HISTORY = """
SELECT round.round, client.key::int, client.value -> %s
FROM experiments_round AS round, jsonb_each(round.clients) AS client
WHERE round.run_id = %s AND round.round = ANY(%s) AND client.key = ANY(%s) AND client.value ? %s
"""
COHORTS = """
SELECT round.round, client FROM experiments_round AS round, unnest(round.cohort) AS client
WHERE round.run_id = %s AND round.round = ANY(%s) AND client = ANY(%s)
"""


@dataclass(frozen=True)
class ClientRow:
    """-1 is the shared client of hybrid sharing. `numbers` are the latest of each kind."""

    client: int
    rounds: int
    numbers: dict[str, Any] = field(default_factory=dict)


def client_rows(*, run: int, rounds_done: int) -> list[ClientRow]:
    participation = dict(fetch_rows(PARTICIPATION, [run]))
    first = max(0, rounds_done - MOST_VALUES // max(1, len(participation)))
    numbers: dict[int, dict[str, Any]] = {client: {} for client in participation}
    for client, name, value in fetch_rows(LATEST, [run, first]):
        numbers.setdefault(client, {})[name] = as_number(value)
    return [ClientRow(client, participation.get(client, 0), numbers[client]) for client in sorted(numbers)]


def as_number(value: Any) -> Any:
    """jsonb has no NaN: it came in as text."""
    text = value.strip('"') if isinstance(value, str) else value
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def sort_clients(rows: Sequence[ClientRow], by: str) -> list[ClientRow]:
    """By client, `rounds` or one of the numbers; a minus turns it round. Clients without that number come last."""
    name, down = by.removeprefix("-"), by.startswith("-")
    known = [row for row in rows if sort_value(row, name) is not None]
    ordered = sorted(known, key=lambda row: sort_value(row, name) or 0.0, reverse=down)
    return [*ordered, *(row for row in rows if sort_value(row, name) is None)]


def sort_value(row: ClientRow, name: str) -> float | None:
    value = {"client": row.client, "rounds": row.rounds}.get(name, row.numbers.get(name))
    return float(value) if isinstance(value, int | float) and value == value else None


def client_columns(rows: Sequence[ClientRow]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.numbers))


def clients_of(*, run: int) -> list[int]:
    """Everyone who took part; clients that only evaluate do so in the first rounds already."""
    return [client for (client,) in fetch_rows(EVERYONE, {"run": run, "early": 1})]


def client_history(
    *, run: int, name: str, rounds: Sequence[int], clients: Sequence[int]
) -> dict[int, dict[int, float]]:
    """By client and round, what is known."""
    history: dict[int, dict[int, float]] = {client: {} for client in clients}
    keys = [str(client) for client in clients]
    for number, client, value in fetch_rows(HISTORY, [name, run, list(rounds), keys, name]):
        history[client][number] = as_number(value)
    return history


def client_cohorts(*, run: int, rounds: Sequence[int], clients: Sequence[int]) -> dict[int, dict[int, float]]:
    """1 where a client took part, 0 where it did not."""
    participation = {client: dict.fromkeys(rounds, 0.0) for client in clients}
    for number, client in fetch_rows(COHORTS, [run, list(rounds), list(clients)]):
        participation[client][number] = 1.0
    return participation


def fetch_rows(query: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
