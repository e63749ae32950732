"""A table: what an import of it would store, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workers.catalog.component import Arrays
from workers.data_import.columns import ColumnScan, is_picture, value_type
from workers.data_import.limits import refuse_oversize
from workers.data_import.options import ImportOptions
from workers.data_import.plan import (
    EXAMPLES,
    ColumnPreview,
    Plan,
    Preview,
    class_problems,
    first_of,
    quoted,
    set_name,
    stored_bytes,
)
from workers.data_import.sources import PARTS, Source
from workers.data_import.table_arrays import make_arrays
from workers.data_import.table_problems import option_problems, scan_problems
from workers.data_import.table_scan import (
    TableScan,
    category_names,
    class_keys,
    class_names,
    sample_shape,
    scan_table,
)
from workers.data_import.tables import Table
from workers.datasets._fetch import Report
from workers.spec.runspec import rounded_share


def plan_table(source: Source, options: ImportOptions, within: Sequence[Path], report: Report) -> Plan:
    scan = scan_table(Table(source.tables, within), options, report)
    target, shape = scan.of_role("target"), sample_shape(scan)
    names = class_names(target) if target else ()
    by_class = class_counts(target) if target else {}
    test = expected_test_rows(scan)
    clients = scan.of_role("client")
    problems = [*option_problems(scan), *(scan_problems(scan) if scan.rows else ["It has no rows."])]
    if target and not problems:
        problems += class_problems(f"Column {target.name!r}", by_class)
    preview = Preview(
        name=set_name(options, source.path),
        kind=f"{'pictures in a table' if scan.picture else 'table'} ({source.tables[0].format})",
        rows=scan.rows,
        train=scan.rows - test,
        test=test,
        shape=shape,
        bytes=stored_bytes(scan.rows, shape, 1 if scan.picture else 4) if shape else 0,
        classes=len(names),
        class_counts=first_of(by_class),
        clients=None if clients is None or clients.counts is None else len(clients.counts),
        columns=tuple(column_preview(scan, name) for name in scan.roles),
        problems=tuple(problems),
        notes=tuple(table_notes(scan, source)),
    )

    def make(report: Report) -> tuple[Arrays, list[dict[str, Any]]]:
        refuse_oversize(preview.bytes)
        return make_arrays(scan, shape, report)

    return Plan(preview, names, make)


def class_counts(target: ColumnScan) -> dict[str, int]:
    counts = target.counts or Counter()
    return {name: counts[key] for name, key in zip(class_names(target), class_keys(target), strict=True)}


def expected_test_rows(scan: TableScan) -> int:
    if scan.rows_by_part["test"]:
        return scan.rows_by_part["test"]
    if split := scan.of_role("split"):
        return sum(count for word, count in (split.counts or {}).items() if PARTS.get(word.lower()) == "test")
    clients, share = scan.of_role("client"), scan.options.test_share
    if clients is None:
        return rounded_share(share, scan.rows)
    return sum(rounded_share(share, count) for count in (clients.counts or {}).values())


def table_notes(scan: TableScan, source: Source) -> Iterator[str]:
    if len(source.tables) > 1:
        yield f"{len(source.tables):,} files are one table."
    if scan.rows_by_part["test"]:
        yield "The names of the files say which rows are for training and for testing; no share is drawn."
    unused = [name for name, role in scan.roles.items() if role == "left out" and name not in scan.options.leave_out]
    if unused:
        yield f"A sample is its picture; these columns are left out: {quoted(unused)}."
    if scan.options.missing == "fill":
        filled = [column.name for column in scan.columns.values() if column.missing]
        if filled:
            yield f"Missing values are filled in {quoted(filled)}."


def column_preview(scan: TableScan, name: str) -> ColumnPreview:
    column, role, kind = scan.columns.get(name), scan.roles[name], scan.table.types[name]
    features = {"number": 1, "picture": 1}.get(role, 0)
    if role == "category" and column:
        features = len(category_names(column))
    shown = "text" if scan.table.is_text else "picture" if is_picture(kind) else str(value_type(kind))
    if scan.table.is_text and column and column.is_number:
        shown = "numbers"
    if column is None:
        return ColumnPreview(name, shown, role, features, 0, None, ())
    names = class_names(column) if column.counts is not None else ()
    values = len(names) if column.counts is not None else None
    return ColumnPreview(name, shown, role, features, column.missing, values, tuple(names[:EXAMPLES]))
