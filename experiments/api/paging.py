"""Lists come a page at a time; the cursor is the last item's id, so that new rows shift nothing."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from ninja import Schema
from pydantic import Field

Row = TypeVar("Row", bound=Model)


class Paging(Schema):
    limit: int = Field(100, ge=1, le=1000)
    cursor: int | None = Field(None, ge=1, lt=2**63)


def page_of(rows: QuerySet[Row], paging: Paging, *, newest_first: bool = False) -> tuple[int, str | None, list[Row]]:
    """How many there are in all, the next cursor, and this page."""
    order, side = ("-pk", "lt") if newest_first else ("pk", "gt")
    rest: Any = rows if paging.cursor is None else rows.filter(**{f"pk__{side}": paging.cursor})
    found = list(rest.order_by(order)[: paging.limit + 1])
    more = len(found) > paging.limit
    page = found[: paging.limit]
    return rows.order_by().count(), str(page[-1].pk) if more else None, page
