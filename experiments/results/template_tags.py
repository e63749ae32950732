"""Numbers of runs in their units."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from django import template

from experiments.labels.metrics import HUGE, MetricLabel
from experiments.models import Attempt
from experiments.results.selectors import runs
from experiments.web.template_tags import duration, number

register = template.Library()


@register.filter
def first_line(text: str) -> str:
    return runs.first_line(text)


@register.filter
def share(value: float) -> str:
    return f"{value:.1%}".replace("%", " %")


@register.filter
def in_unit(value: Any, label: MetricLabel) -> str:
    """A client's number as its column's head says; what is not finite is a word."""
    if value is None or isinstance(value, str):
        return value or "–"
    return label.format(value) if math.isfinite(value) else "not finite"


@register.filter
def size(bytes_: float) -> str:
    """In powers of 1000, as the charts have it: "15.4 kB"."""
    value, unit = float(bytes_), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.3g} {unit}"


@register.filter
def quantity(value: float, name: str) -> str:
    """A cost with its unit: bytes, seconds, or a plain count."""
    if not math.isfinite(value):
        return "not finite"
    if name.startswith("bytes"):
        return size(value)
    if abs(value) >= HUGE:
        return f"{value:.3g}"
    if name.startswith("seconds"):
        return duration(timedelta(seconds=value)) if value >= 10 else f"{value:.3g} s"
    return number(round(value))


@register.filter
def took(attempt: Attempt) -> str:
    return duration(attempt.ended - attempt.started) if attempt.ended else "–"
