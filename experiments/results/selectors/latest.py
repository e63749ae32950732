"""The latest number of each of many runs, as a subquery of theirs: one array of each is looked at."""

from __future__ import annotations

from typing import Any

from django.db.models import F, FloatField, Func, IntegerField, OuterRef, QuerySet

from experiments.models import Curve
from experiments.results.models import BLOCK_ROUNDS


class NumberAt(Func):
    """The element of an array at a subscript; null where it has none."""

    template = "(%(expressions)s]"
    arg_joiner = ")["
    output_field = FloatField()


LAST_ROUND = Func("numbers", 1, function="array_upper", output_field=IntegerField())


def latest_values(*, name: str, run: str) -> QuerySet[Curve, Any]:
    """`run` is the outer query's field of the run; `value` is that of its latest round which has one."""
    curves = Curve.objects.filter(run_id=OuterRef(run), name=name).order_by("-block", LAST_ROUND.desc())
    return curves.annotate(value=NumberAt(F("numbers"), LAST_ROUND)).values("value")


def last_round_values(*, name: str, run: str, rounds_done: str) -> QuerySet[Curve, Any]:
    """`value` is that of the run's last round, of runs that have one there."""
    last = OuterRef(rounds_done)
    curves = Curve.objects.filter(run_id=OuterRef(run), name=name, block=last / BLOCK_ROUNDS)
    return curves.annotate(value=NumberAt(F("numbers"), last)).filter(value__isnull=False).values("value")
