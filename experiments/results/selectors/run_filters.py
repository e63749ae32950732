"""Runs by what they are: `study`, `state`, `tag`, `run`, `cell`, `seed`, or any field of the spec named by its path.

Filters come as names with values, as in a query string: several values of one name mean any of them, several names mean
all of them. `strategy=fedprox&strategy.mu=0.1&strategy.mu=1` are the FedProx runs with one of two mu. Of runs of an
app, every key of the app's config is a field: `app=my-app&app.learning-rate=0.1`.
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
from workers.spec.paths import APP_FIELDS

RunFilters = Mapping[str, Sequence[str]]
LARGEST_ID = 2**63 - 1
APP_KEY = "app."


def parse_run_filters(
    query: Iterable[tuple[str, Sequence[Any]]], *, besides: Iterable[str] = ()
) -> dict[str, list[str]]:
    """The filters in a query (`request.GET.lists()`) without what else it says, or a `SpecError` with every mistake."""
    others = set(besides)
    filters = {name: [str(each) for each in values] for name, values in query if name not in others}
    if problems := tuple(filter_problems(filters)):
        raise SpecError(problems, "The runs cannot be filtered like that.")
    return filters


def filter_runs(runs: QuerySet[Run], filters: RunFilters) -> QuerySet[Run]:
    """Each run once, whatever holds it."""
    for name, values in filters.items():
        runs = runs.filter(FACT_FILTERS[name](values) if name in FACT_FILTERS else spec_field_is(name, values))
    return runs


def filter_problems(filters: RunFilters) -> Iterator[Problem]:
    for name, values in filters.items():
        if name not in FACT_FILTERS and not is_spec_path(name):
            yield Problem(name, "There is no such field: name one by its path, such as strategy or strategy.mu.")
        elif name in ID_FILTERS and not all(is_id(each) for each in values):
            yield Problem(name, f"Expected a whole number up to {LARGEST_ID}.")
        elif name == "state" and not set(values) <= set(RunState.values):
            yield Problem(name, f"Choose one of {', '.join(RunState.values)}.")


def is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= LARGEST_ID


def is_spec_path(path: str) -> bool:
    return path in spec_paths() or path.startswith(APP_KEY)


@cache
def spec_paths() -> frozenset[str]:
    """Every path that a spec of some component may have, a component's name standing at its own path.

    Besides those there are `app.KEY`, whatever key an app's config has.
    """
    return frozenset(model_paths(RunSpec, "")) | {"app", f"{APP_KEY}clients"}


def model_paths(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix.removesuffix(".") if name == "name" and prefix else prefix + name
        for inner in models_in(field.annotation):
            yield from model_paths(inner, f"{prefix}{name}.")


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def spec_field_is(path: str, values: Sequence[str]) -> Q:
    """A component's path means its name, as in tables."""
    keys = stored_keys(path)
    places = [spec_value(keys), spec_value([*keys, "name"])]
    candidates = [Value(reading, JSONField()) for text in values for reading in possible_values(text)]
    return reduce(
        or_, (Q(KeyTransformExact(place, reading)) for place in places for reading in candidates), Q(pk__in=[])
    )


def stored_keys(path: str) -> list[str]:
    """Where a path of `flatten` stands in a stored spec. A key of an app's config is one key, dots and all."""
    key = path.removeprefix(APP_KEY)
    if key == path or key in APP_FIELDS:
        return path.split(".")
    return ["app", "config", key.removeprefix("config.")]


def spec_value(keys: Sequence[str]) -> Any:
    value: Any = "spec"
    for key in keys:
        value = KeyTransform(key, value)
    return value


def possible_values(text: str) -> list[Any]:
    """What a person may mean by it: `0.1` the number or the word, `null` nothing, `fedavg` just that."""
    word = plain_text(text)
    try:
        return [word, json_safe(json.loads(text))]
    except (ValueError, RecursionError):
        return [word]


def has_membership(condition: Q) -> Q:
    return Q(Exists(Membership.objects.filter(condition, run=OuterRef("pk"))))


def has_tag(values: Sequence[str]) -> Q:
    return has_membership(Q(study__tags__overlap=[plain_text(each) for each in values]))


ID_FILTERS = {"study", "run", "seed"}
FACT_FILTERS: dict[str, Callable[[Sequence[str]], Q]] = {
    "study": lambda values: has_membership(Q(study__in=[int(each) for each in values])),
    "run": lambda values: Q(pk__in=[int(each) for each in values]),
    "seed": lambda values: Q(seed__in=[int(each) for each in values]),
    "state": lambda values: Q(state__in=list(values)),
    "cell": lambda values: Q(cell__in=[plain_text(each) for each in values]),
    "tag": has_tag,
}
