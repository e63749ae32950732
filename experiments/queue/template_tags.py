"""Runs and speeds in words, and what a worker used over the last hour as a small picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from experiments.labels.names import cell_name

register = template.Library()

WIDTH, HEIGHT = 120, 28


@register.filter
def pace(speed: float) -> str:
    """Rounds per second, or per minute where a round takes longer: "12 rounds/s", "1.4 rounds/min"."""
    unit, value = ("s", speed) if speed >= 1 else ("min", speed * 60)
    return f"{value:.0f} rounds/{unit}" if value >= 10 else f"{value:.1f} rounds/{unit}"


@register.filter
def method_words(spec: Mapping[str, Any]) -> str:
    """What a run tries, in full: three runs of one strategy and partition may differ in ratio and alpha."""
    return cell_name(spec)


@register.simple_tag
def spark(values: Sequence[float | None], top: float, label: str) -> SafeString:
    """A line from left (an hour ago) to right (now), broken where nothing was measured; `top` is the full height."""
    lines = format_html_join("", '<polyline points="{}"/>', ((points,) for points in line_segments(values, top)))
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        WIDTH,
        HEIGHT,
        label,
        lines,
    )


def line_segments(values: Sequence[float | None], top: float) -> list[str]:
    step = WIDTH / max(1, len(values) - 1)
    points = [(index * step, value) for index, value in enumerate(values)]
    stretches = [list(group) for known, group in groupby(points, lambda point: point[1] is not None) if known]
    return [
        " ".join(point_text(x, value or 0.0, top) for x, value in stretch_lone_point(stretch, step))
        for stretch in stretches
    ]


def stretch_lone_point(points: list[tuple[float, float | None]], step: float) -> list[tuple[float, float | None]]:
    """A lone point would be invisible."""
    return points if len(points) > 1 else [points[0], (points[0][0] + step / 2, points[0][1])]


def point_text(x: float, value: float, top: float) -> str:
    height = (HEIGHT - 2) * min(1.0, value / top) if top > 0 else 0.0
    return f"{x:.1f},{HEIGHT - 1 - height:.1f}"
