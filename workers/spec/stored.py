"""What is wrong with a spec that was stored elsewhere, perhaps with components and fields that are not known here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from workers.errors import Problem
from workers.spec.appspec import LOGGED, AppSpec, is_app
from workers.spec.first_wave import FIRST_WAVE_FIELDS
from workers.spec.runspec import RunSpec

PARTS_WITH_FIELDS = ("", "hybrid", "local", "evaluation", "stop")
APP_FIELDS = {*AppSpec.model_fields, LOGGED}
NOT_THERE = "is not there."


def stored_spec_problems(spec: Mapping[str, Any]) -> list[Problem]:
    """Only what nobody could read: another version may have had other names and other bounds, but no other kinds of
    values."""
    if is_app(spec):
        return list(app_problems(spec))
    return [*missing_fields(spec), *kind_problems(spec, RunSpec)]


def app_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    if odd := sorted(set(spec) - APP_FIELDS):
        yield Problem(odd[0], "has no place beside an app.")
    if not isinstance(spec["app"], Mapping) or "config" not in spec["app"]:
        yield Problem("app.config", NOT_THERE)
    yield from kind_problems({name: value for name, value in spec.items() if name != LOGGED}, AppSpec)


def missing_fields(spec: Mapping[str, Any]) -> Iterator[Problem]:
    for part in PARTS_WITH_FIELDS:
        values = spec.get(part) if part else spec
        for name in sorted(FIRST_WAVE_FIELDS[part]):
            if isinstance(values, Mapping) and name not in values:
                yield Problem(f"{part}.{name}" if part else name, NOT_THERE)


def kind_problems(spec: Mapping[str, Any], model: type[BaseModel]) -> Iterator[Problem]:
    try:
        model.model_validate(dict(spec))
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if is_of_another_kind(each):
                yield Problem(".".join(map(str, each["loc"])), f"{each['msg']}.")


def is_of_another_kind(error: ErrorDetails) -> bool:
    kind, value = error["type"], error["input"]
    if kind == "union_tag_invalid":  # a component that is not here: a name all the same?
        return not isinstance(value["name"], str)
    if kind == "literal_error":
        return not isinstance(value, str)
    return kind.endswith("_type") or kind == "union_tag_not_found"
