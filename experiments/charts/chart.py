"""A chart as every reader needs it: for the browser, in words, and as the numbers behind it."""

from __future__ import annotations

import base64
import csv
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import numpy as np

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n")


@dataclass(frozen=True)
class DataTable:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def objects(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def csv_text(table: DataTable) -> str:
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([csv_value(name) for name in table.columns])
    writer.writerows([csv_value(value) for value in row] for row in table.rows)
    return file.getvalue()


def csv_value(value: Any) -> Any:
    """Numbers to the last digit; text that a spreadsheet would take for a formula is marked as text."""
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, str):
        return value
    # Python's writer does not quote a lone return, behind which a spreadsheet would begin a row.
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def finite_only(value: Any) -> Any:
    """A figure as JSON has it: what is not finite is nothing there, which is drawn as a gap."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [finite_only(each) if isinstance(each, float | list | tuple | dict) else each for each in value]
    if isinstance(value, dict):
        return {name: finite_only(each) for name, each in value.items()}
    return value


MARKUP = re.compile(r"&|<(?!br>|/?extra>)")
"""What Plotly would read as markup, but for the line breaks and ends of hover texts that charts have of their own."""

NOT_DRAWN = ("legendgroup", "bdata")


def plotly_figure(value: Any) -> Any:
    """A figure for the browser: finite, and with the names that people gave shown as they wrote them.

    Plotly makes links, styles and characters out of `<a href=...>`, `<b>` and `&lt;` wherever it draws a text.
    """
    if isinstance(value, str):
        return MARKUP.sub(lambda found: "&amp;" if found[0] == "&" else "&lt;", value)
    if isinstance(value, list | tuple):
        return [plotly_figure(each) if isinstance(each, str | float | list | tuple | dict) else each for each in value]
    if isinstance(value, dict):
        return {name: each if name in NOT_DRAWN else plotly_figure(each) for name, each in value.items()}
    return finite_only(value)


PACKED_LENGTH = 64


def pack_figure(figure: dict[str, Any]) -> dict[str, Any]:
    return {**figure, "data": [pack_trace(trace) for trace in figure["data"]]}


def pack_trace(trace: dict[str, Any]) -> dict[str, Any]:
    long = {name: trace[name] for name in ("x", "y") if is_long_series(trace.get(name))}
    return {**trace, **{name: typed_array(values) for name, values in long.items()}}


def is_long_series(values: Any) -> bool:
    """A series is of one kind: its first value tells whether these are numbers."""
    long = isinstance(values, list) and len(values) >= PACKED_LENGTH
    return long and isinstance(next((value for value in values if value is not None), 0), int | float)


def typed_array(values: Sequence[float | None]) -> dict[str, str]:
    """A gap is NaN, as in Plotly's own arrays."""
    array = np.array(values, dtype="<f8")
    return {"dtype": "f8", "bdata": base64.b64encode(array.tobytes()).decode()}


EMPTY_FIGURE: dict[str, Any] = {"data": [], "layout": {"xaxis": {"visible": False}, "yaxis": {"visible": False}}}
"""Nothing to draw: words stand there instead of empty axes."""


@dataclass(frozen=True)
class Chart:
    """`empty` says what to do where there is nothing to draw yet."""

    title: str
    figure: Mapping[str, Any]
    description: str
    make_table: Callable[[], DataTable]
    notes: str = ""
    legend: Sequence[Mapping[str, Any]] = field(default_factory=list)
    empty: str = "The first values appear with the first finished runs."
    page: tuple[int, int] = (1, 1)
    """Which it is, of how many."""
    live: Mapping[str, Any] | None = None
    """With what the browser goes on by itself (`experiments.charts.live_curves`)."""

    @property
    def table(self) -> DataTable:
        """The numbers behind it; made only for those who ask."""
        return self.make_table()

    def answer(self) -> dict[str, Any]:
        return {
            **(plotly_figure(pack_figure(dict(self.figure))) if self.figure["data"] else EMPTY_FIGURE),
            "title": self.title,
            "description": self.description,
            "notes": self.notes,
            "legend": list(self.legend),
            "empty": self.empty,
            **({"page": self.page[0], "pages": self.page[1]} if self.page[1] > 1 else {}),
            **({"live": self.live} if self.live else {}),
        }


def empty_chart(title: str, why: str) -> Chart:
    return Chart(title, EMPTY_FIGURE, why, lambda: DataTable((), ()), empty=why)
