"""What was run: a row for each run, with every field of its spec, whether the runs differ in it or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from experiments.export.columns import Facts
from experiments.export.tables.table import WORD, Table, words
from experiments.models import Run

RUNS = 2_000
MOMENT = pa.timestamp("us", tz="UTC")
OWN = {
    "hash": WORD,
    "state": WORD,
    "rounds_done": pa.int32(),
    "rounds_total": pa.int32(),
    "engine": WORD,
    "reason": WORD,
    "created": MOMENT,
    "started": MOMENT,
    "finished": MOMENT,
}


def spec_table(facts: Facts, _: Sequence[str] = ()) -> Table:
    schema = facts.schema(OWN)
    return Table(schema, (batch_of(facts, schema, rows) for rows in row_lists(facts)))


def row_lists(facts: Facts) -> Iterator[list[Any]]:
    for start in range(0, len(facts.runs), RUNS):
        chosen = Run.objects.filter(pk__in=facts.runs[start : start + RUNS].tolist())
        yield list(chosen.order_by("pk").values_list("pk", *OWN))


def batch_of(facts: Facts, schema: Any, rows: Sequence[Any]) -> Any:
    runs, *columns = zip(*rows, strict=True)
    own = [
        words(column) if kind == WORD else pa.array(column, kind)
        for kind, column in zip(OWN.values(), columns, strict=True)
    ]
    return facts.batch(schema, runs, own)
