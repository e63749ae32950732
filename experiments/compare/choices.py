"""All choices of a comparison, as they stand in the address: a link is a view. What is unknown counts as not given."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from django.http import QueryDict

from experiments.charts.curves import BANDS, Band
from experiments.charts.smoothing import Drawing
from experiments.charts.styles import Placing
from experiments.compare.charts.curves import X_AXES, XAxis
from experiments.compare.charts.fairness import Shape
from experiments.compare.charts.values import KINDS, ValueKind, Wanted

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
MOST = 50
LONGEST = 200


@dataclass(frozen=True)
class Pick:
    """`only` keeps, of the axes named in it, the values given."""

    studies: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()
    only: tuple[tuple[str, str], ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.studies or self.tags or self.runs)


@dataclass(frozen=True)
class Choices:
    pick: Pick
    tab: Tab
    metric: str
    x: XAxis
    band: Band
    placing: Placing
    drawing: Drawing
    wanted: Wanted
    across: tuple[str, ...]
    against: str
    second: str
    compared: str
    pair: tuple[str, str]
    shape: Shape
    diff: tuple[int, int]
    run: int
    narrow: bool


def choices_of(query: QueryDict) -> Choices:
    return Choices(
        pick=pick_of(query),
        tab=one_of(query, "tab", TABS, "overview"),
        metric=text(query, "metric") or "accuracy",
        x=X_AXES[one_of(query, "x", X_AXES, "round")],
        band=one_of(query, "band", ALL_BANDS, "std"),
        placing=placing_of(query),
        drawing=drawing_of(query),
        wanted=wanted_of(query),
        across=tuple(texts(query, "across")),
        against=text(query, "against"),
        second=text(query, "second"),
        compared=text(query, "compared"),
        pair=(text(query, "first"), text(query, "versus")),
        shape=one_of(query, "shape", get_args(Shape), "ecdf"),
        diff=(whole(query, "left"), whole(query, "right")),
        run=whole(query, "client_run"),
        narrow=query.get("narrow") == "1",
    )


def pick_of(query: QueryDict) -> Pick:
    only = [value.partition(":") for value in texts(query, "only")]
    return Pick(
        numbers(query, "study"),
        tuple(texts(query, "tag")),
        numbers(query, "run"),
        tuple((axis, word) for axis, colon, word in only if colon),
    )


def wanted_of(query: QueryDict) -> Wanted:
    kind: ValueKind = one_of(query, "value", KINDS, "final")
    at = tuple(dict.fromkeys(int(part) for part in text(query, "at").replace(",", " ").split() if is_whole(part)))
    return Wanted(kind, min(1000, max(1, whole(query, "last") or 5)), at[:12], decimal(query, "target"))


def placing_of(query: QueryDict) -> Placing:
    colour, dash, row, column = (text(query, name) for name in ("colour", "dash", "row", "column"))
    return Placing(colour, dash, row, column, brief=query.get("brief") == "1")


def drawing_of(query: QueryDict) -> Drawing:
    logs = query.getlist("log")
    return Drawing("x" in logs, "y" in logs, min(0.99, max(0.0, decimal(query, "smooth") or 0.0)))


def one_of(query: QueryDict, name: str, known: Iterable[Name], default: Name) -> Name:
    asked = query.get(name)
    return next((each for each in known if each == asked), default)


def text(query: QueryDict, name: str) -> str:
    return str(query.get(name) or "")[:LONGEST].replace("\0", "")


def texts(query: QueryDict, name: str) -> list[str]:
    return [each[:LONGEST].replace("\0", "") for each in query.getlist(name)[:MOST] if each]


def is_whole(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 10


def whole(query: QueryDict, name: str) -> int:
    return int(found) if is_whole(found := text(query, name)) else 0


def numbers(query: QueryDict, name: str) -> tuple[int, ...]:
    """Repeated, or several in one field."""
    words = [word for value in query.getlist(name) for word in value.replace(",", " ").split()]
    return tuple(dict.fromkeys(int(word) for word in words if is_whole(word) and int(word)))[:MOST]


def decimal(query: QueryDict, name: str) -> float | None:
    try:
        value = float(text(query, name))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
