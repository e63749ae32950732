"""Lines with bands as a small SVG file: equal numbers make equal files, whatever is installed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 640, 340, 56, 14, 44, 14
COLOURS = ("#0b6e8f", "#c2410c", "#6d4fb3", "#1d7a46", "#b3266b", "#7a5b00", "#3f6ad8", "#5b6670")
LEGEND_LINE = 18
TICKS = 5
Points = Sequence[Sequence[float | None]]


@dataclass(frozen=True)
class Frame:
    """Where values lie on the picture."""

    x: tuple[float, float]
    y: tuple[float, float]
    top: int

    def across(self, value: float) -> float:
        return LEFT + (value - self.x[0]) / ((self.x[1] - self.x[0]) or 1) * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        inside = HEIGHT - TOP - BOTTOM
        return self.top + TOP + inside - (value - self.y[0]) / ((self.y[1] - self.y[0]) or 1) * inside

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{self.across(x):.1f},{self.up(y):.1f}" for x, y in points)


def draw_chart(chart: Mapping[str, Any]) -> str:
    """`lines` has by label its points: x, mean, and low and high or nothing; with `log_x` those above 0 are drawn."""
    log_x: bool = chart.get("log_x", False)
    lines: dict[str, Points] = {label: known_points(points) for label, points in chart["lines"].items()}
    if log_x:
        lines = {label: logarithmic_points(points) for label, points in lines.items()}
    top = LEGEND_LINE * len(lines)
    frame = Frame(*value_limits(lines), top)
    parts = [
        *draw_axes(frame, chart["x"], chart["y"], log_ticks(*frame.x) if log_x else round_ticks(*frame.x), log_x=log_x),
        *(part for place, points in enumerate(lines.values()) for part in draw_line(points, frame, line_colour(place))),
        *(part for place, label in enumerate(lines) for part in draw_legend_entry(place, label)),
    ]
    size = f'viewBox="0 0 {WIDTH} {HEIGHT + top}" font-family="sans-serif" font-size="12"'
    body = "\n".join([f"<title>{escape(chart['title'])}</title>", *parts])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return f'{head}\n<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'


def known_points(points: Points) -> Points:
    return [point for point in points if point[1] is not None]


def logarithmic_points(points: Points) -> Points:
    return [(math.log10(x), *values) for x, *values in points if x]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each decade between these logarithms."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    ticks = [round(first * 10.0**decade, 12) for decade in decades for first in (1, 2, 5)]
    return [tick for tick in ticks if low - 1e-9 <= math.log10(tick) <= high + 1e-9]


def line_colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def value_limits(lines: Mapping[str, Points]) -> tuple[tuple[float, float], tuple[float, float]]:
    x = [point[0] or 0.0 for points in lines.values() for point in points]
    y = [value for points in lines.values() for point in points for value in point[1:] if value is not None]
    low, high = min(y, default=0.0), max(y, default=1.0)
    room = 0.04 * (high - low or 1.0)
    return (min(x, default=0.0), max(x, default=1.0)), (low - room, high + room)


def draw_axes(frame: Frame, x: str, y: str, x_ticks: Sequence[float], *, log_x: bool) -> Iterator[str]:
    left, right, bottom = LEFT, WIDTH - RIGHT, frame.up(frame.y[0])
    for value in round_ticks(*frame.y):
        at = frame.up(value)
        yield f'<path d="M{left},{at:.1f}H{right}" stroke="#d9dde2"/>'
        yield f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end" fill="#4a4a4a">{value:g}</text>'
    for value in x_ticks:
        at = frame.across(math.log10(value) if log_x else value)
        yield f'<text x="{at:.1f}" y="{bottom + 18:.1f}" text-anchor="middle" fill="#4a4a4a">{value:g}</text>'
    yield f'<path d="M{left},{bottom:.1f}H{right}" stroke="#4a4a4a"/>'
    yield f'<text x="{(left + right) / 2}" y="{bottom + 36:.1f}" text-anchor="middle">{escape(x)}</text>'
    middle = (frame.top + TOP + bottom) / 2
    turned = f'transform="translate(14,{middle:.1f}) rotate(-90)"'
    yield f'<text {turned} text-anchor="middle">{escape(y)}</text>'


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers within."""
    rough = (high - low) / TICKS or 1.0
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * each for each in (1, 2, 5, 10) if size * each >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 10) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def draw_line(points: Points, frame: Frame, colour: str) -> Iterator[str]:
    banded = [(x, low, high) for x, _, low, high in points if low is not None and high is not None]
    if banded:
        upper, lower = [(x, high) for x, _, high in banded], [(x, low) for x, low, _ in reversed(banded)]
        yield f'<path d="{frame.path([*upper, *lower])}Z" fill="{colour}" fill-opacity="0.15"/>'
    middle = [(x or 0.0, mean or 0.0) for x, mean, *_ in points]
    yield f'<path d="{frame.path(middle)}" fill="none" stroke="{colour}" stroke-width="2"/>'


def draw_legend_entry(place: int, label: str) -> Iterator[str]:
    at = TOP + LEGEND_LINE * place
    yield f'<path d="M{LEFT},{at}h24" stroke="{line_colour(place)}" stroke-width="2"/>'
    yield f'<text x="{LEFT + 32}" y="{at + 4}">{escape(label)}</text>'
