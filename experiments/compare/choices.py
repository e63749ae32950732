"""All choices of a comparison, as they stand in the address: a link is a view. What is unknown counts as not given."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from django.http import QueryDict

from experiments.charts.curves import BANDS, Band
from experiments.charts.smoothing import LineOptions
from experiments.charts.styles import StyleAxes
from experiments.compare.charts.curves import X_AXES, XAxis
from experiments.compare.charts.fairness import SpreadShape
from experiments.compare.charts.values import VALUE_KINDS, ValueChoice, ValueKind

Name = TypeVar("Name", bound=str)
Tab = Literal["overview", "better", "cost", "clients", "specs"]
TABS: dict[Tab, str] = {
    "overview": "Curves and table",
    "better": "Is it better?",
    "cost": "Cost",
    "clients": "Clients and classes",
    "specs": "Specs",
}
ALL_BANDS: dict[Band, str] = {**BANDS, "boot": "95 % bootstrap"}
MOST_VALUES, MOST_NUMBERS = 50, 1_000
LONGEST_VALUE = 200


@dataclass(frozen=True)
class SelectionQuery:
    """`only` keeps, of the axes named in it, the values given."""

    studies: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()
    only: tuple[tuple[str, str], ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.studies or self.tags or self.runs)


Labels = Mapping[tuple[str, str], str]
"""By axis and value, as addresses spell both: what the person calls it in this view."""
LABEL = "label."
MOST_LABELS, LONGEST_LABEL = 100, 80


@dataclass(frozen=True)
class Choices:
    selection_query: SelectionQuery
    tab: Tab
    metric: str
    x: XAxis
    band: Band
    style_axes: StyleAxes
    line_options: LineOptions
    value: ValueChoice
    across: tuple[str, ...]
    against: str
    second: str
    compared: str
    pair: tuple[str, str]
    baseline: int
    shape: SpreadShape
    diff: tuple[int, int]
    run: int
    narrow: bool
    page: int
    labels: Labels


def choices_of(query: QueryDict) -> Choices:
    return Choices(
        selection_query=selection_query(query),
        tab=query_option(query, "tab", TABS, "overview"),
        metric=query_text(query, "metric") or "accuracy",
        x=X_AXES[query_option(query, "x", X_AXES, "round")],
        band=query_option(query, "band", ALL_BANDS, "std"),
        style_axes=style_axes(query),
        line_options=line_options(query),
        value=value_choice(query),
        across=tuple(query_texts(query, "across")),
        against=query_text(query, "against"),
        second=query_text(query, "second"),
        compared=query_text(query, "compared"),
        pair=(query_text(query, "first"), query_text(query, "versus")),
        baseline=query_number(query, "baseline"),
        shape=query_option(query, "shape", get_args(SpreadShape), "ecdf"),
        diff=(query_number(query, "left"), query_number(query, "right")),
        run=query_number(query, "client_run"),
        narrow=query.get("narrow") == "1",
        page=query_number(query, "page") or 1,
        labels=chosen_labels(query),
    )


def selection_query(query: QueryDict) -> SelectionQuery:
    only = [value.partition(":") for value in query_texts(query, "only")]
    return SelectionQuery(
        query_numbers(query, "study"),
        tuple(query_texts(query, "tag")),
        query_numbers(query, "run"),
        tuple((axis, word) for axis, colon, word in only if colon),
    )


def chosen_labels(query: QueryDict) -> dict[tuple[str, str], str]:
    """From `label.strategy:fedavg=Baseline`."""
    labels = {}
    for name in [name for name in query if name.startswith(LABEL)][:MOST_LABELS]:
        axis, _, value = name.removeprefix(LABEL).partition(":")
        labels[axis, value] = " ".join(query_text(query, name).split())[:LONGEST_LABEL]
    return {key: label for key, label in labels.items() if label}


def value_choice(query: QueryDict) -> ValueChoice:
    kind: ValueKind = query_option(query, "value", VALUE_KINDS, "final")
    words = query_text(query, "at").replace(",", " ").split()
    at = tuple(dict.fromkeys(int(word) for word in words if is_whole_number(word)))
    last = min(1000, max(1, query_number(query, "last") or 5))
    return ValueChoice(kind, last, at[:12], query_decimal(query, "target"))


def style_axes(query: QueryDict) -> StyleAxes:
    colour, dash, row, column = (query_text(query, name) for name in ("colour", "dash", "row", "column"))
    return StyleAxes(colour, dash, row, column, brief=query.get("brief") == "1")


def line_options(query: QueryDict) -> LineOptions:
    logs = query.getlist("log")
    smoothing = min(0.99, max(0.0, query_decimal(query, "smooth") or 0.0))
    return LineOptions("x" in logs, "y" in logs, smoothing, own_x=query.get("own") == "x")


def query_option(query: QueryDict, name: str, known: Iterable[Name], default: Name) -> Name:
    value = query.get(name)
    return next((each for each in known if each == value), default)


def query_text(query: QueryDict, name: str) -> str:
    return str(query.get(name) or "")[:LONGEST_VALUE].replace("\0", "")


def query_texts(query: QueryDict, name: str) -> list[str]:
    return [each[:LONGEST_VALUE].replace("\0", "") for each in query.getlist(name)[:MOST_VALUES] if each]


def is_whole_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 10


def query_number(query: QueryDict, name: str) -> int:
    return int(value) if is_whole_number(value := query_text(query, name)) else 0


def query_numbers(query: QueryDict, name: str) -> tuple[int, ...]:
    """Repeated, or several in one field."""
    words = [word for value in query.getlist(name) for word in value.replace(",", " ").split()]
    return tuple(dict.fromkeys(int(word) for word in words if is_whole_number(word) and int(word)))[:MOST_NUMBERS]


def query_decimal(query: QueryDict, name: str) -> float | None:
    try:
        value = float(query_text(query, name))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
