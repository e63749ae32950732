"""What the clients of each run hold: a row for each run, client and statistic, drawn anew from the run's spec.

Of a client (-1 is the shared one): `samples`, `classes` (how many it holds), `entropy` of its labels in bits, and
`samples.<class>`. Of a run, without a client: `mean_entropy`, and `distance`, the mean Jensen-Shannon distance between
clients. Of a federation of very many clients, some at even distances are told one by one, as on its page. Where nothing
can be drawn, because the data set is not here or is another by now, `problem` says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from experiments.client_data.selectors import run_federation
from experiments.client_data.services import distribution_or_wait
from experiments.export.columns import RunColumns
from experiments.export.tables.table import WORD, Table, row_batch
from experiments.models import Run
from workers.client_data.assignment import federation_fields, federation_spec
from workers.client_data.distribution import ClientDistribution, row_indices
from workers.errors import TributaryError

RUNS = 100
CACHED_FEDERATIONS = 16
"""Federations remembered: runs that differ only in their strategy have the same."""
OWN = {"client": pa.int64(), "metric": WORD, "value": pa.float64(), "problem": WORD}
Row = tuple[int | None, str | None, float | None, str | None]


def partition_table(columns: RunColumns, _: Sequence[str] = ()) -> Table:
    schema = columns.schema(OWN)
    return Table(schema, partition_batches(columns, schema))


def partition_batches(columns: RunColumns, schema: Any) -> Iterator[Any]:
    cached_rows = lru_cache(CACHED_FEDERATIONS)(distribution_rows)
    for start in range(0, len(columns.runs), RUNS):
        runs = Run.objects.filter(pk__in=columns.runs[start : start + RUNS].tolist()).order_by("pk")
        for run in runs.only("pk", "spec", "provenance"):
            yield row_batch(columns, schema, OWN, ((run.pk, *row) for row in run_rows(run, cached_rows)))


def run_rows(run: Run, cached_rows: Any) -> list[Row]:
    try:
        spec = run_federation(run.spec, run.launch_sources)
        rows: list[Row] = cached_rows(json.dumps(federation_fields(spec), sort_keys=True))
    except TributaryError as error:
        return [(None, None, None, error.detail)]
    return rows


def distribution_rows(spec: str) -> list[Row]:
    distribution = distribution_or_wait(federation_spec(json.loads(spec)))
    whole: list[Row] = [
        (None, "mean_entropy", distribution.mean_entropy, None),
        (None, "distance", distribution.distance, None),
    ]
    return whole + [(client, name, value, None) for client, name, value in client_numbers(distribution)]


def client_numbers(distribution: ClientDistribution) -> Iterator[tuple[int, str, float]]:
    for place, client, counts in zip(
        row_indices(len(distribution.sizes)), distribution.clients, distribution.counts, strict=True
    ):
        yield client, "samples", distribution.sizes[place]
        yield client, "classes", distribution.held[place]
        yield client, "entropy", distribution.entropies[place]
        for name, count in zip(distribution.classes, counts, strict=True):
            yield client, f"samples.{name}", count
