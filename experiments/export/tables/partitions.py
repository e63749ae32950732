"""What the clients of each run hold: a row for each run, client and statistic, drawn anew from the run's spec.

Of a client (-1 is the shared one): `samples`, `classes` (how many it holds), `entropy` of its labels in bits, and
`samples.<class>`. Of a run, without a client: `mean_entropy`, and `distance`, the mean Jensen-Shannon distance between
clients. Of a federation of very many clients, some at even distances are told one by one, as on its page. Where nothing
can be drawn, because the data set is not here, `problem` says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from experiments.client_data.selectors import portrait_of
from experiments.export.columns import Facts
from experiments.export.tables.table import WORD, Table, words
from experiments.models import Run
from workers.client_data.description import Portrait, drawn_rows
from workers.client_data.holdings import holding_spec, relevant
from workers.errors import TributaryError

RUNS = 100
KEPT = 16
"""Federations remembered: runs that differ only in their strategy have the same."""
OWN = {"client": pa.int64(), "metric": WORD, "value": pa.float64(), "problem": WORD}
Row = tuple[int | None, str | None, float | None, str | None]


def partition_table(facts: Facts, _: Sequence[str] = ()) -> Table:
    schema = facts.schema(OWN)
    return Table(schema, batches(facts, schema))


def batches(facts: Facts, schema: Any) -> Iterator[Any]:
    drawn = lru_cache(KEPT)(portrait_rows)
    for start in range(0, len(facts.runs), RUNS):
        chosen = Run.objects.filter(pk__in=facts.runs[start : start + RUNS].tolist()).order_by("pk")
        for run, spec in chosen.values_list("pk", "spec"):
            yield batch_of(facts, schema, run, rows_of(spec, drawn))


def rows_of(spec: Mapping[str, Any], drawn: Any) -> list[Row]:
    try:
        rows: list[Row] = drawn(json.dumps(relevant(holding_spec(spec)), sort_keys=True))
    except TributaryError as error:
        return [(None, None, None, error.detail)]
    return rows


def portrait_rows(spec: str) -> list[Row]:
    portrait = portrait_of(holding_spec(json.loads(spec)))
    whole: list[Row] = [
        (None, "mean_entropy", portrait.mean_entropy, None),
        (None, "distance", portrait.distance, None),
    ]
    return whole + [(client, name, value, None) for client, name, value in client_numbers(portrait)]


def client_numbers(portrait: Portrait) -> Iterator[tuple[int, str, float]]:
    for place, client, counts in zip(drawn_rows(len(portrait.sizes)), portrait.clients, portrait.counts, strict=True):
        yield client, "samples", portrait.sizes[place]
        yield client, "classes", portrait.held[place]
        yield client, "entropy", portrait.entropies[place]
        for name, count in zip(portrait.classes, counts, strict=True):
            yield client, f"samples.{name}", count


def batch_of(facts: Facts, schema: Any, run: int, rows: Sequence[Row]) -> Any:
    clients, metrics, values, problems = zip(*rows, strict=True)
    own = [pa.array(clients, pa.int64()), words(metrics), pa.array(values, pa.float64()), words(problems)]
    return facts.batch(schema, [run] * len(rows), own)
