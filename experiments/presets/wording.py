"""What a published number is about, and what it is, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.labels.axes import axis_of
from experiments.labels.metrics import metric_label
from experiments.labels.names import COMPONENT_KINDS, component_words, field_name, parameter_words, value_text
from experiments.presets.claims import ClaimResult
from experiments.presets.comparison import ComparisonRow
from experiments.presets.preset import (
    ArgMax,
    At,
    BestReading,
    Converge,
    CurveReading,
    Final,
    Over,
    Published,
    Reach,
    Saved,
    Size,
)
from workers.spec import flatten

SMALL_P = 1e-4
UNITS = {"percent": "%", "round": "rounds"}
WHOLE = ("round", "swap rounds")
PLAIN = {
    "final": "{metric} at the end",
    "max": "best {metric}",
    "argmax": "round of the best {metric}",
    "count": "rounds with swaps",
    "start": "{metric} before training",
}


def match_text(match: Mapping[str, Any]) -> str:
    """The values of a match, components by name with what else is said of them."""
    return " · ".join(part for key, value in match.items() if (part := field_text(key, value)))


def field_text(key: str, value: Any) -> str:
    if not isinstance(value, Mapping) and not value:
        return ""
    flat = {path: each for path, each in flatten({key: value}).items() if each is not None}
    return " ".join(axis_text(axis, flat) for axis in dict.fromkeys(map(axis_of, flat)))


def axis_text(axis: str, flat: Mapping[str, Any]) -> str:
    """A component whose name is not said by its parameters alone."""
    if axis not in COMPONENT_KINDS:
        return field_name(axis, flat[axis])
    paths = [path for path in flat if path.startswith(f"{axis}.")]
    if axis in flat:
        return component_words(axis, flat, paths)
    return ", ".join(parameter_words(path.removeprefix(f"{axis}."), flat[path]) for path in paths)


def quantity_text(published: Published) -> str:
    reading = published.reading
    if isinstance(reading, Size):
        return noted("size of the model", published)
    if isinstance(reading, Saved):
        return noted("bytes saved in the worst case" if reading.worst else "bytes saved", published)
    text = reading_text(reading)
    if published.against:
        text = f"{text}, less that of {match_text({'strategy': published.against['strategy']})}"
    return noted(text, published)


def noted(text: str, published: Published) -> str:
    return f"{text} ({published.note})" if published.note else text


def reading_text(reading: CurveReading) -> str:
    metric = metric_label(reading.metric.removesuffix(".*")).text.lower()
    match reading:
        case At():
            return f"{metric} at round {reading.round}"
        case Over():
            return f"{reading.take} of {metric}, rounds {reading.first} to {reading.last}"
        case Reach():
            return f"rounds to {metric} {value_text(100 * reading.target)} %"
        case Converge():
            return f"rounds until {metric} settles"
    text = PLAIN[reading.take].format(metric=metric)  # type: ignore[attr-defined]
    if isinstance(reading, BestReading) and reading.of == "mean-curve":
        return f"{text}, of the mean curve"
    return f"{text}, of the best run" if isinstance(reading, Final) and reading.of == "best-run" else text


def number_text(value: float | None, published: Published) -> str:
    if value is None:
        return "–"
    variance = isinstance(published.reading, Over) and published.reading.take == "variance"
    digits = 1 if published.unit in WHOLE else 3 if variance and abs(value) < 1 else 2
    return f"{value:.{digits}f}"


def published_text(published: Published) -> str:
    text = value_text(published.value) + (f" ± {value_text(published.std)}" if published.std is not None else "")
    return f"≈ {text}" if published.approximate else text


def measured_text(row: ComparisonRow) -> str:
    """Mean and interval, or an en dash."""
    if row.low is None or row.high is None:
        return number_text(row.mean, row.published)
    mean, low, high = (number_text(value, row.published) for value in (row.mean, row.low, row.high))
    return f"{mean} [{low}, {high}]"


def claim_text(result: ClaimResult) -> str:
    """How sure it is, or why that is not known."""
    if result.p is None:
        return result.reason
    of = "settings" if result.claim.compare == "spread" else "seeds"
    many = f", the weakest of {result.comparisons} comparisons" if result.comparisons > 1 and of == "seeds" else ""
    return (
        f"p = {result.p:.2g}, {result.n} {of}{many}"
        if result.p >= SMALL_P
        else f"p < {SMALL_P:g}, {result.n} {of}{many}"
    )


def unit_text(published: Published) -> str:
    if isinstance(published.reading, Over) and published.reading.take == "variance":
        return "%²"
    if isinstance(published.reading, ArgMax):
        return ""  # the number of a round, not a number of rounds
    return UNITS.get(published.unit, published.unit)
