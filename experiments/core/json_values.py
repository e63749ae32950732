"""NaN and infinity have no place in JSON: they travel as text that `float()` and JavaScript's `Number()` both read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")


def json_number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_safe(value: Any) -> Any:
    """The value as PostgreSQL's jsonb and browsers take it."""
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, Mapping):
        return {str(key): json_safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(each) for each in value]
    return value


def plain_text(value: str) -> str:
    """What PostgreSQL and XML can hold and no terminal obeys: no lone halves of surrogate pairs, and of control
    characters only those that break lines and indent."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", value).encode("utf-8", "replace").decode()
