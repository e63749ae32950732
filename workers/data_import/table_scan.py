"""All of a table looked at once: which column is what, and what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from workers.data_import.columns import FILLED, ColumnScan, is_numeric, is_picture, is_text, value_type
from workers.data_import.limits import MOST_CATEGORIES, MOST_CLASSES, MOST_CLIENTS
from workers.data_import.options import ImportOptions
from workers.data_import.pictures import PictureScan
from workers.data_import.tables import BATCH_ROWS, Batch, Table
from workers.datasets._fetch import Report
from workers.errors import DatasetError

PICTURE_ROWS = 64
ROLES = ("target", "client", "split")


@dataclass
class TableScan:
    """All of a table, looked at once."""

    table: Table
    options: ImportOptions
    roles: dict[str, str]
    columns: dict[str, ColumnScan] = field(default_factory=dict)
    pictures: PictureScan = field(default_factory=PictureScan)
    rows_by_part: Counter[str | None] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        return sum(self.rows_by_part.values())

    @property
    def picture(self) -> str | None:
        return next((name for name, role in self.roles.items() if role == "picture"), None)

    def of_role(self, role: str) -> ColumnScan | None:
        return next((self.columns[name] for name, given in self.roles.items() if given == role), None)

    def features(self, role: str) -> list[ColumnScan]:
        return [self.columns[name] for name, given in self.roles.items() if given == role]


def column_roles(table: Table, options: ImportOptions) -> dict[str, str]:
    """By what was asked for and by type; columns of text that may be numbers are `number` until they were read."""
    asked = {name: role for role in ROLES if (name := getattr(options, role))}
    has_picture = False
    roles: dict[str, str] = {}
    for name, kind in table.types.items():
        values = value_type(kind)
        if name in asked or name in options.leave_out:
            roles[name] = asked.get(name, "left out")
        elif is_picture(values):
            roles[name], has_picture = "refused" if has_picture else "picture", True
        elif name in options.categories or name in table.class_names:
            roles[name] = "category"
        elif is_numeric(values) or (is_text(values) and table.is_text):
            roles[name] = "number"
        else:
            roles[name] = "category" if is_text(values) else "refused"
    if has_picture:
        roles = {name: role if role in (*ROLES, "picture", "refused") else "left out" for name, role in roles.items()}
    return roles


def scan_table(table: Table, options: ImportOptions, report: Report) -> TableScan:
    scan = TableScan(table, options, column_roles(table, options))
    most = {"target": MOST_CLASSES, "client": MOST_CLIENTS}
    for name, role in scan.roles.items():
        if role not in ("left out", "refused", "picture"):
            kind = value_type(table.types[name])
            scan.columns[name] = ColumnScan(
                name, kind, most.get(role, MOST_CATEGORIES), table.class_names.get(name, ())
            )
    read = [*scan.columns, *([scan.picture] if scan.picture else [])] or list(table.types)[:1]
    for batch in table.batches(read, PICTURE_ROWS if scan.picture else BATCH_ROWS):
        report(min(0.45, scan.rows / (scan.rows + 10 * BATCH_ROWS)), batch.place(0))
        scan.rows_by_part[batch.file.part] += len(batch)
        for column in scan.columns.values():
            column.add(batch)
        if scan.picture:
            for content, name in picture_contents(batch, scan.picture):
                scan.pictures.add(content, name)
    for name, column in scan.columns.items():
        if scan.roles[name] == "number" and not column.is_number:
            scan.roles[name] = "category"
    return scan


def picture_contents(batch: Batch, column: str) -> Iterator[tuple[bytes, str]]:
    values = batch.columns[column]
    contents = values.field("bytes") if pa.types.is_struct(values.type) else values
    for index, content in enumerate(contents.to_pylist()):
        if content is None or not values[index].is_valid:
            raise DatasetError(
                f"{batch.place(index)}, column {column!r}: no picture is in the table itself. Save the data set with "
                "its pictures embedded, or take the row away."
            )
        yield content, f"{batch.place(index)}, column {column!r}"


def class_keys(column: ColumnScan) -> list[str]:
    """The texts that stand for the classes or categories of a column, in their order."""
    if column.class_names:
        return [str(place) for place in range(len(column.class_names))]
    return column.values


def class_names(column: ColumnScan) -> tuple[str, ...]:
    return column.class_names or tuple(column.values)


def category_names(column: ColumnScan) -> tuple[str, ...]:
    """Missing words have a category of their own where there are any."""
    return (*class_names(column), FILLED) if column.missing else class_names(column)


def sample_shape(scan: TableScan) -> tuple[int, ...]:
    if scan.picture:
        return scan.pictures.shape(scan.options) if scan.pictures.first else ()
    words = sum(len(category_names(column)) for column in scan.features("category"))
    total = len(scan.features("number")) + words
    return (total,) if total else ()
