"""Lists come a page at a time. A cursor names the last row by what the list is sorted by: new rows shift nothing."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db.models import F, Model, Q, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from ninja import Schema
from pydantic import Field

from experiments.core.json_values import plain_text
from workers.errors import Problem, SpecError

Row = TypeVar("Row", bound=Model)
BAD_CURSOR = "Take the cursor from `next` of the page before, and leave everything else as it was there."


class Paging(Schema):
    limit: int = Field(100, ge=1, le=1000, description="Items on a page.", examples=[100])
    cursor: str = Field("", max_length=2000, description="`next` of the page before.", examples=[""])


@dataclass(frozen=True)
class SortKey:
    """What rows are sorted by. Those without a value come last, whichever way it goes."""

    expression: Combinable
    low: Any = None
    high: Any = None
    read: Callable[[Any], Any] = lambda value: value

    def without_nulls(self, *, descending: bool) -> Combinable:
        empty = self.low if descending else self.high
        return self.expression if empty is None else Coalesce(self.expression, Value(empty))


def time_key(field: str) -> SortKey:
    return SortKey(F(field), datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC), datetime.fromisoformat)


def number_key(expression: Combinable) -> SortKey:
    return SortKey(expression, float("-inf"), float("inf"), float)


def integer_key(field: str) -> SortKey:
    return SortKey(F(field), read=int)


def text_key(field: str) -> SortKey:
    return SortKey(F(field), read=lambda value: plain_text(str(value)))


@dataclass(frozen=True)
class Sorting:
    name: str
    key: SortKey

    @property
    def descending(self) -> bool:
        return self.name.startswith("-")


def find_sorting(name: str, keys: Mapping[str, SortKey]) -> Sorting:
    return Sorting(name, keys[name.removeprefix("-")])


def read_page(rows: QuerySet[Row], paging: Paging, by: Sorting) -> tuple[int, str | None, list[Row]]:
    """How many there are in all, the next cursor, and this page."""
    place = rows.annotate(place=by.key.without_nulls(descending=by.descending))
    sign = "-" if by.descending else ""
    rest: Any = place.filter(rows_after(paging.cursor, by)) if paging.cursor else place
    following = list(rest.order_by(f"{sign}place", f"{sign}pk")[: paging.limit + 1])
    page = following[: paging.limit]
    more = len(following) > paging.limit
    return rows.order_by().count(), write_cursor(page[-1], by) if more else None, page


def rows_after(cursor: str, by: Sorting) -> Q:
    side = "lt" if by.descending else "gt"
    value, pk = read_cursor(cursor, by)
    return Q(**{f"place__{side}": value}) | Q(**{"place": value, f"pk__{side}": pk})


def write_cursor(row: Any, by: Sorting) -> str:
    value = row.place.isoformat() if isinstance(row.place, datetime) else row.place
    return urlsafe_b64encode(json.dumps([by.name, value, row.pk]).encode()).decode()


def read_cursor(cursor: str, by: Sorting) -> tuple[Any, int]:
    try:
        name, value, pk = json.loads(urlsafe_b64decode(cursor))
        position = by.key.read(value), int(pk)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise SpecError([Problem("cursor", BAD_CURSOR)], "The cursor cannot be read.") from None
    whole = position[0] if isinstance(position[0], int) else 0
    if name != by.name or not all(abs(number) < 2**63 for number in (position[1], whole)):
        raise SpecError([Problem("cursor", BAD_CURSOR)], "The cursor belongs to another list.")
    return position
