"""Per-client numbers: a row for each run, round, client and metric; client -1 is the shared one of hybrid sharing."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from experiments.export.columns import Facts
from experiments.export.reading import pieces
from experiments.export.tables.table import WORD, Table, words

ROUNDS = 64
"""Read at a time: one of thousands of clients is a megabyte."""
OWN = {
    "round": pa.int32(),
    "client": pa.int64(),
    "took_part": pa.bool_(),
    "metric": WORD,
    "value": pa.float64(),
}
CLIENTS = """
SELECT run_id, round, cohort, clients::text FROM experiments_round
WHERE run_id = ANY(%(runs)s) AND clients <> '{}' ORDER BY run_id, round
"""
Row = tuple[int, int, int, bool, str, float]


def client_table(facts: Facts, names: Sequence[str] = ()) -> Table:
    schema = facts.schema(OWN)
    return Table(schema, (batch_of(facts, schema, rows) for rows in row_lists(facts, set(names))))


def row_lists(facts: Facts, names: Collection[str]) -> Iterator[list[Row]]:
    for rounds in pieces(CLIENTS, {"runs": facts.runs.tolist()}, ROUNDS):
        if rows := list(chain.from_iterable(rows_of(each, names) for each in rounds)):
            yield rows


def rows_of(found: tuple[int, int, list[int], str], names: Collection[str]) -> Iterator[Row]:
    run, number, cohort, text = found
    clients = {int(client): numbers for client, numbers in json.loads(text).items()}
    present = set(cohort)
    for client in sorted(clients):
        for name, value in chosen(clients[client].items(), names):
            # NaN and infinity are kept as text there, which float() reads.
            yield run, number, client, client in present, name, float(value)


def chosen(numbers: Iterable[tuple[str, Any]], names: Collection[str]) -> Iterable[tuple[str, Any]]:
    return ((name, value) for name, value in numbers if value is not None and (not names or name in names))


def batch_of(facts: Facts, schema: Any, rows: Sequence[Row]) -> Any:
    runs, rounds, clients, present, metrics, values = zip(*rows, strict=True)
    own = [
        pa.array(rounds, pa.int32()),
        pa.array(clients, pa.int64()),
        pa.array(present, pa.bool_()),
        words(metrics),
        pa.array(values, pa.float64()),
    ]
    return facts.batch(schema, runs, own)
