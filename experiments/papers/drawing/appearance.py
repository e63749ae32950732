"""How lines are told apart in print: by colour, and without it by dashes and markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COLOURS = ("#0b6e8f", "#c2410c", "#6d4fb3", "#1d7a46", "#b3266b", "#7a5b00", "#3f6ad8", "#5b6670")
GREYS = ("#000000", "#6f6f6f", "#3a3a3a", "#8c8c8c", "#1f1f1f", "#7d7d7d", "#555555", "#999999")
MUTED = "#b4bac1"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo", "----")
Dash = tuple[float, tuple[float, ...]]
DASHES: dict[str, Dash] = {
    "solid": (0, ()),
    "dash": (0, (4, 1.8)),
    "dot": (0, (1, 1.4)),
    "dashdot": (0, (4, 1.4, 1, 1.4)),
    "longdash": (0, (7, 2)),
    "longdashdot": (0, (7, 1.6, 1, 1.6)),
}


@dataclass(frozen=True)
class Appearance:
    colour: str
    dash: Dash
    marker: str
    hatch: str = ""


def trace_key(trace: Mapping[str, Any]) -> str:
    """What has one look: a line in all its panels, with its band and its marks; what has no name by its hue."""
    return look_key(str(trace.get("legendgroup", "")), int(trace.get("meta", {}).get("hue", 0)))


def look_key(label: str, hue: int) -> str:
    return f"{label}\n{hue}"


def appearances(traces: Sequence[Mapping[str, Any]], ink: str) -> dict[str, Appearance]:
    """Hues and dashes as on the screen, and no two lines alike without colour.

    A marker goes with each hue, and a dash too where all lines are solid.
    """
    looks: dict[str, tuple[int, str]] = {}
    for trace in sorted(traces, key=lambda each: bool(each.get("meta", {}).get("band"))):
        dash = (trace.get("line") or {}).get("dash", "solid")
        looks.setdefault(trace_key(trace), (int(trace.get("meta", {}).get("hue", 0)), str(dash)))
    hues = {hue: place for place, hue in enumerate(dict.fromkeys(hue for hue, _ in looks.values()))}
    all_solid = all(dash == "solid" for _, dash in looks.values())
    palette = GREYS if ink == "grey" else COLOURS
    names = list(DASHES)
    return {
        key: Appearance(
            palette[(hues[hue] if ink == "grey" else hue) % len(palette)],
            DASHES.get(names[hues[hue] % len(names)] if all_solid else dash, DASHES["solid"]),
            MARKERS[hues[hue] % len(MARKERS)],
            HATCHES[hues[hue] % len(HATCHES)],
        )
        for key, (hue, dash) in looks.items()
    }
