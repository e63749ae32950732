"""What else the workers have to do: the runs that wait or run already, and how long they will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Exists, Max, Min, OuterRef, Sum

from experiments.models import Membership, Run, User
from experiments.queue.services.runs import ACTIVE
from experiments.results.selectors.runs import specs_of
from experiments.studies.services.estimates import CACHE_SECONDS, QueueLoad, speed_model
from workers.errors import TributaryError
from workers.spec import AnySpec, is_logged
from workers.spec.appspec import parse_spec

MOST_CELLS = 60
"""Kinds of runs that are looked at, those with most runs; the rest count as these do."""


def queue_load(*, owner: User, requires: str, device_type: str) -> QueueLoad:
    """Read again when runs come or end, or after some seconds: a person who types asks several times a second."""
    open_studies = Membership.objects.filter(run=OuterRef("pk"), study__paused=False, study__cancelled=False)
    waiting = Run.objects.filter(Exists(open_studies), state__in=ACTIVE, requires=requires).order_by()
    state = waiting.aggregate(runs=Count("pk"), newest=Max("pk"))
    if not state["runs"]:
        return QueueLoad()
    key = f"queue-load-{owner.pk}-{requires}-{device_type}-{state['runs']}-{state['newest']}"
    load: QueueLoad | None = cache.get(key)
    if load is None:
        mine = Exists(open_studies.filter(study__owner=owner))
        groups = (
            waiting.annotate(mine=mine)
            .values("cell", "mine")
            .annotate(
                first=Min("pk"),
                runs=Count("pk"),
                left=Sum("rounds_total") - Sum("rounds_done"),
                all=Sum("rounds_total"),
            )
        )
        people = Membership.objects.filter(run__in=waiting, study__paused=False, study__cancelled=False)
        others = people.exclude(study__owner=owner).aggregate(people=Count("study__owner", distinct=True))["people"]
        load = sum_load(list(groups.order_by("-runs")), others, device_type)
        cache.set(key, load, CACHE_SECONDS)
    return load


def sum_load(groups: Sequence[dict[str, Any]], other_people: int, device_type: str) -> QueueLoad:
    cells = load_cells(groups[:MOST_CELLS])
    speeds = speed_model([(spec, group["runs"]) for group, spec in cells], device_type)
    seconds: Counter[str] = Counter()
    for group, spec in cells:
        whose, share = "own" if group["mine"] else "others", group["left"] / max(1, group["all"])
        one = speeds.seconds(spec)
        seconds[f"{whose}_low"] += one.low * group["runs"] * share
        seconds[f"{whose}_high"] += one.high * group["runs"] * share
    runs, known = (sum(group["runs"] for group in some) for some in (groups, [group for group, _ in cells]))
    scale = runs / known if known else 0.0
    return QueueLoad(runs, other_people=other_people, **{name: value * scale for name, value in seconds.items()})


def load_cells(groups: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], AnySpec]]:
    """Without runs that scripts compute elsewhere, and those whose component is no longer here."""
    specs, cells = specs_of([group["first"] for group in groups]), []
    for group in groups:
        of_run = specs.get(group["first"])
        if of_run is None or is_logged(of_run.spec):
            continue
        try:
            cells.append((group, parse_spec(of_run.spec)))
        except TributaryError:
            continue
    return cells
