"""What a published number is about, and what it is, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.labels.axes import value_text
from experiments.labels.metrics import metric_label
from experiments.presets.comparison import Row
from experiments.presets.preset import ArgMax, At, Converge, OneRun, Over, Published, Reach, Saved

UNITS = {"percent": "%", "round": "rounds"}
WHOLE = ("round", "swap rounds")
PLAIN = {
    "final": "{metric} at the end",
    "max": "best {metric}",
    "argmax": "round of the best {metric}",
    "count": "rounds with swaps",
}


def about(match: Mapping[str, Any]) -> str:
    """The values of a match, components by name with what else is said of them."""
    return " · ".join(part for key, value in match.items() if (part := part_of(key, value)))


def part_of(key: str, value: Any) -> str:
    if not isinstance(value, Mapping):
        return f"{key.replace('_', ' ')} {value_text(value)}" if value else ""
    name, rest = value.get("name"), {inner: each for inner, each in value.items() if inner != "name"}
    texts = [
        part_of(inner, each) if isinstance(each, Mapping) else f"{inner} {value_text(each)}"
        for inner, each in rest.items()
    ]
    return " ".join([*([str(name)] if name else []), *texts])


def what(published: Published) -> str:
    reading = published.reading
    if isinstance(reading, Saved):
        return "bytes saved in the worst case" if reading.worst else "bytes saved"
    text = described(reading)
    if published.against:
        text = f"{text}, less that of {about({'strategy': published.against['strategy']})}"
    return f"{text} ({published.note})" if published.note else text


def described(reading: OneRun) -> str:
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
    return PLAIN[reading.take].format(metric=metric)  # type: ignore[attr-defined]


def number(value: float | None, published: Published) -> str:
    if value is None:
        return "–"
    variance = isinstance(published.reading, Over) and published.reading.take == "variance"
    digits = 1 if published.unit in WHOLE else 3 if variance and abs(value) < 1 else 2
    return f"{value:.{digits}f}"


def printed(published: Published) -> str:
    text = value_text(published.value) + (f" ± {value_text(published.std)}" if published.std is not None else "")
    return f"≈ {text}" if published.approximate else text


def measured(row: Row) -> str:
    """Mean and interval, or an en dash."""
    if row.low is None or row.high is None:
        return number(row.mean, row.published)
    return f"{number(row.mean, row.published)} [{number(row.low, row.published)}, {number(row.high, row.published)}]"


def unit(published: Published) -> str:
    if isinstance(published.reading, Over) and published.reading.take == "variance":
        return "%²"
    if isinstance(published.reading, ArgMax):
        return ""  # the number of a round, not a number of rounds
    return UNITS.get(published.unit, published.unit)
