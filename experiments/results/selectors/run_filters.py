"""Runs by what they are: `study`, `state`, `tag`, `run`, `cell`, `seed`, or any field of the spec named by its path.

Filters come as names with values, as in a query string: several values of one name mean any of them, several names mean
all of them. `strategy=fedprox&strategy.mu=0.1&strategy.mu=1` are the FedProx runs with one of two mu.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import Any, get_args

from django.db.models import Exists, JSONField, OuterRef, Q, QuerySet, Value
from django.db.models.fields.json import KeyTransform, KeyTransformExact
from pydantic import BaseModel

from experiments.core.json_values import json_safe, plain_text
from experiments.models import Membership, Run, RunState
from workers.errors import Problem, SpecError
from workers.spec import RunSpec

Filters = Mapping[str, Sequence[str]]
LARGEST = 2**63 - 1


def run_filters(given: Iterable[tuple[str, Sequence[Any]]], *, besides: Iterable[str] = ()) -> dict[str, list[str]]:
    """The filters in a query (`request.GET.lists()`) without what else it says, or a `SpecError` with every mistake."""
    others = set(besides)
    filters = {name: [str(each) for each in values] for name, values in given if name not in others}
    if problems := tuple(problems_in(filters)):
        raise SpecError(problems, "The runs cannot be filtered like that.")
    return filters


def filtered(runs: QuerySet[Run], filters: Filters) -> QuerySet[Run]:
    """Each run once, whatever holds it."""
    for name, values in filters.items():
        runs = runs.filter(OWN[name](values) if name in OWN else field_is(name, values))
    return runs


def problems_in(filters: Filters) -> Iterator[Problem]:
    known = known_paths()
    for name, values in filters.items():
        if name not in OWN and name not in known:
            yield Problem(name, "There is no such field: name one by its path, such as strategy or strategy.mu.")
        elif name in NUMBERS and not all(is_id(each) for each in values):
            yield Problem(name, f"Expected a whole number up to {LARGEST}.")
        elif name == "state" and not set(values) <= set(RunState.values):
            yield Problem(name, f"Choose one of {', '.join(RunState.values)}.")


def is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST


@cache
def known_paths() -> frozenset[str]:
    """Every path that a spec of some component may have, a component's name standing at its own path."""
    return frozenset(paths_in(RunSpec, ""))


def paths_in(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix.removesuffix(".") if name == "name" and prefix else prefix + name
        for inner in models_in(field.annotation):
            yield from paths_in(inner, f"{prefix}{name}.")


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def field_is(path: str, values: Sequence[str]) -> Q:
    """A component's path means its name, as in tables."""
    keys = path.split(".")
    places = [value_at(keys), value_at([*keys, "name"])]
    meant = [Value(reading, JSONField()) for text in values for reading in readings(text)]
    return reduce(or_, (Q(KeyTransformExact(place, reading)) for place in places for reading in meant), Q(pk__in=[]))


def value_at(keys: Sequence[str]) -> Any:
    found: Any = "spec"
    for key in keys:
        found = KeyTransform(key, found)
    return found


def readings(text: str) -> list[Any]:
    """What a person may mean by it: `0.1` the number or the word, `null` nothing, `fedavg` just that."""
    word = plain_text(text)
    try:
        return [word, json_safe(json.loads(text))]
    except (ValueError, RecursionError):
        return [word]


def held_by(condition: Q) -> Q:
    return Q(Exists(Membership.objects.filter(condition, run=OuterRef("pk"))))


def has_tag(values: Sequence[str]) -> Q:
    return held_by(Q(study__tags__overlap=[plain_text(each) for each in values]))


NUMBERS = {"study", "run", "seed"}
OWN: dict[str, Callable[[Sequence[str]], Q]] = {
    "study": lambda values: held_by(Q(study__in=[int(each) for each in values])),
    "run": lambda values: Q(pk__in=[int(each) for each in values]),
    "seed": lambda values: Q(seed__in=[int(each) for each in values]),
    "state": lambda values: Q(state__in=list(values)),
    "cell": lambda values: Q(cell__in=[plain_text(each) for each in values]),
    "tag": has_tag,
}
