"""Per-client numbers: a row for each run, round, client and metric; client -1 is the shared one of hybrid sharing."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from experiments.export.columns import RunColumns
from experiments.export.reading import fetch_pieces
from experiments.export.tables.table import WORD, Table, row_batch

ROUNDS = 64
"""Read at a time: one of thousands of clients is a megabyte."""
OWN = {
    "round": pa.int32(),
    "client": pa.int64(),
    "took_part": pa.bool_(),
    "metric": WORD,
    "value": pa.float64(),
}
CLIENT_NUMBERS = """
SELECT run_id, round, cohort, clients::text FROM experiments_round
WHERE run_id = ANY(%(runs)s) AND clients <> '{}' ORDER BY run_id, round
"""
Row = tuple[int, int, int, bool, str, float]


def client_table(columns: RunColumns, names: Sequence[str] = ()) -> Table:
    schema = columns.schema(OWN)
    return Table(schema, (row_batch(columns, schema, OWN, rows) for rows in client_row_lists(columns, set(names))))


def client_row_lists(columns: RunColumns, names: Collection[str]) -> Iterator[list[Row]]:
    for rounds in fetch_pieces(CLIENT_NUMBERS, {"runs": columns.runs.tolist()}, ROUNDS):
        if rows := list(chain.from_iterable(round_rows(each, names) for each in rounds)):
            yield rows


def round_rows(row: tuple[int, int, list[int], str], names: Collection[str]) -> Iterator[Row]:
    run, number, cohort, text = row
    clients = {int(client): numbers for client, numbers in json.loads(text).items()}
    present = set(cohort)
    for client in sorted(clients):
        for name, value in select_metrics(clients[client].items(), names):
            # NaN and infinity are kept as text there, which float() reads.
            yield run, number, client, client in present, name, float(value)


def select_metrics(numbers: Iterable[tuple[str, Any]], names: Collection[str]) -> Iterable[tuple[str, Any]]:
    return ((name, value) for name, value in numbers if value is not None and (not names or name in names))
