"""Long series as Plotly's typed arrays: a third of the size of their digits, and nothing for the browser to parse."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

LONG = 64


def packed(figure: dict[str, Any]) -> dict[str, Any]:
    return {**figure, "data": [packed_trace(trace) for trace in figure["data"]]}


def packed_trace(trace: dict[str, Any]) -> dict[str, Any]:
    long = {name: trace[name] for name in ("x", "y") if is_long(trace.get(name))}
    return {**trace, **{name: typed(values) for name, values in long.items()}}


def is_long(values: Any) -> bool:
    """A series is of one kind: its first value tells whether these are numbers."""
    long = isinstance(values, list) and len(values) >= LONG
    return long and isinstance(next((value for value in values if value is not None), 0), int | float)


def typed(values: Sequence[float | None]) -> dict[str, str]:
    """A gap is NaN, as in Plotly's own arrays."""
    array = np.array(values, dtype="<f8")
    return {"dtype": "f8", "bdata": base64.b64encode(array.tobytes()).decode()}
