"""Tables whose columns, order and search a person chooses; the choice stands in the address, where it can be shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from django.http import QueryDict

from experiments.core.json_values import plain_text

Row = TypeVar("Row")
MOST_COLUMNS = 12


class Column(NamedTuple):
    name: str
    text: str
    chosen: bool


class Head(NamedTuple):
    """`following` is the order that a click on it asks for; `aria` the present one."""

    text: str
    name: str
    following: str
    aria: str


@dataclass(frozen=True)
class TableChoices:
    """`sort` is a column's name, with a minus before it for the highest first; empty is the table's own order."""

    columns: tuple[str, ...] = ()
    sort: str = ""
    search: str = ""

    @property
    def sort_name(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def falling(self) -> bool:
        return self.sort.startswith("-")

    def head(self, name: str, text: str, *, highest_first: bool = False) -> Head:
        first, second = (f"-{name}", name) if highest_first else (name, f"-{name}")
        following = {first: second, second: ""}.get(self.sort, first)
        aria = ("descending" if self.falling else "ascending") if self.sort_name == name else ""
        return Head(text, name, following, aria)


def requested_table(
    data: QueryDict, prefix: str, *, columns: Sequence[str], default: Sequence[str], sortable: Iterable[str] = ()
) -> TableChoices:
    """What is not offered counts as not chosen. `sortable` are further columns, which are always there."""
    wanted = data.getlist(f"{prefix}_column")
    chosen = tuple(name for name in columns if name in wanted)[:MOST_COLUMNS] if wanted else tuple(default)
    sort = data.get(f"{prefix}_sort", "")
    known = sort.removeprefix("-") in (*sortable, *chosen)
    return TableChoices(chosen, sort if known else "", plain_text(data.get(f"{prefix}_find", "")).strip())


def sort_rows(rows: Iterable[Row], key: Callable[[Row], Any], *, falling: bool) -> list[Row]:
    """Those without a value come last, whichever way it goes."""
    rows = list(rows)
    known = [row for row in rows if key(row) is not None]
    return [*sorted(known, key=key, reverse=falling), *(row for row in rows if key(row) is None)]


def matches(text: str, search: str) -> bool:
    """Whether every word of the search occurs."""
    return all(word in text.casefold() for word in search.casefold().split())
