"""Sums in SQL that take every stored number: PostgreSQL refuses to add finite numbers beyond the largest double."""

from __future__ import annotations

from django.db.models import Aggregate, FloatField

LARGE = "1e290"
"""Of smaller numbers no table holds enough to exceed the largest double."""
SMALL_PART = f"sum({{value}}) FILTER (WHERE abs({{value}}) < {LARGE})"
LARGE_PART = f"sum({{value}} / 2::float8 ^ 64) FILTER (WHERE abs({{value}}) >= {LARGE})"
# What is not finite is in the large part: to PostgreSQL NaN is more than infinity, and infinity times NaN is NaN. A
# small part below 1 changes no digit of a large one, and would vanish with an error.
BOTH_PARTS = f"""(
    {LARGE_PART} + CASE WHEN abs({SMALL_PART}) > 1 THEN {SMALL_PART} / 2::float8 ^ 64 ELSE 0 END
)"""
SUM = f"""(
    CASE WHEN {LARGE_PART} IS NULL THEN {SMALL_PART}
        WHEN abs{BOTH_PARTS} < 2::float8 ^ 960 THEN {BOTH_PARTS} * 2::float8 ^ 64
        ELSE {BOTH_PARTS} * 'Infinity'::float8 END
)"""


def safe_sum(value: str) -> str:
    """SQL: the sum of a column of doubles; infinite where it exceeds the largest of them, null of nothing."""
    return SUM.format(value=value)


class SafeSum(Aggregate):
    """The same for querysets."""

    template = SUM.format(value="%(expressions)s")
    output_field = FloatField()
