"""The tables that leave, by name, and the bytes of one that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from experiments.core.database import snapshot
from experiments.export.columns import RunColumns, read_run_columns
from experiments.export.tables.clients import client_table
from experiments.export.tables.metrics import metric_table
from experiments.export.tables.notes import note_table
from experiments.export.tables.partitions import partition_table
from experiments.export.tables.specs import spec_table
from experiments.export.tables.summaries import summary_table
from experiments.export.tables.table import Table
from experiments.export.writing import FORMATS
from experiments.models import Run
from experiments.results.selectors.run_filters import filter_runs


@dataclass(frozen=True)
class ExportRequest:
    """Which table, of which runs (as `run_filters` has them) and which metrics; all of them where none is named."""

    table: str = "metrics"
    format: str = "csv"
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metrics: Sequence[str] = ()


TABLES: dict[str, Callable[[RunColumns, Sequence[str]], Table]] = {
    "metrics": metric_table,
    "clients": client_table,
    "summaries": summary_table,
    "specs": spec_table,
    "partitions": partition_table,
}


NOTES = "notes"
"""Of studies too, so that it is no table of runs."""


def export_parts(request: ExportRequest) -> Generator[bytes]:
    """The export's bytes; whatever runs commit while they are taken, they tell of one moment."""
    with snapshot():
        yield from FORMATS[request.format].encode(build_table(request))


def build_table(request: ExportRequest) -> Table:
    studies = [int(study) for study in request.filters.get("study", ())]
    runs = filter_runs(Run.objects.all(), request.filters)
    if request.table == NOTES:
        return note_table(runs, studies)
    columns = read_run_columns(runs, studies, every_field=request.table == "specs")
    return TABLES[request.table](columns, request.metrics)
