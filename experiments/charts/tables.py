"""The numbers behind a chart or a table, for spreadsheets and programs: as stored, not as shown."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO
from typing import Any

RISKY = ("=", "+", "-", "@", "\t", "\n")


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def objects(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def csv_text(table: Table) -> str:
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([written(name) for name in table.columns])
    writer.writerows([written(value) for value in row] for row in table.rows)
    return file.getvalue()


def written(value: Any) -> Any:
    """Numbers to the last digit; text that a spreadsheet would take for a formula is marked as text."""
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, str):
        return value
    # Python's writer does not quote a lone return, behind which a spreadsheet would begin a row.
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(RISKY) else text
