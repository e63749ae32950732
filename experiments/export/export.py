"""The tables that leave, by name."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.export.columns import Facts, facts_of
from experiments.export.reading import snapshot
from experiments.export.tables.clients import client_table
from experiments.export.tables.metrics import metric_table
from experiments.export.tables.partitions import partition_table
from experiments.export.tables.specs import spec_table
from experiments.export.tables.summaries import summary_table
from experiments.export.tables.table import Table
from experiments.export.writing import FORMATS
from experiments.models import Run
from experiments.results.selectors.run_filters import filtered


@dataclass(frozen=True)
class Wanted:
    """Which table, of which runs (as `run_filters` has them) and which metrics; all of them where none is named."""

    table: str = "metrics"
    format: str = "csv"
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metrics: Sequence[str] = ()


MAKERS: dict[str, Callable[[Facts, Sequence[str]], Table]] = {
    "metrics": metric_table,
    "clients": client_table,
    "summaries": summary_table,
    "specs": spec_table,
    "partitions": partition_table,
}


def export_parts(wanted: Wanted) -> Generator[bytes]:
    """The export's bytes; whatever runs commit while they are taken, they tell of one moment."""
    with snapshot():
        yield from FORMATS[wanted.format].encode(table_of(wanted))


def table_of(wanted: Wanted) -> Table:
    studies = [int(study) for study in wanted.filters.get("study", ())]
    facts = facts_of(filtered(Run.objects.all(), wanted.filters), studies, every_field=wanted.table == "specs")
    return MAKERS[wanted.table](facts, wanted.metrics)
