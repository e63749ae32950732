"""The order in which people write a spec: RunSpec's own, a component's name before its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel

from workers.spec import RunSpec


def field_names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from field_names(field.annotation)


@cache
def places() -> dict[str, int]:
    names = dict.fromkeys(["name", "description", "tags", "blocks", *field_names(RunSpec)])
    return {name: place for place, name in enumerate(names)}


def in_spec_order(value: Any) -> Any:
    if isinstance(value, dict):
        known = places()
        ordered = sorted(value.items(), key=lambda item: (known.get(item[0], len(known)), item[0]))
        return {key: in_spec_order(each) for key, each in ordered}
    return [in_spec_order(each) for each in value] if isinstance(value, list) else value


def spec_yaml(value: Any) -> str:
    ordered = in_spec_order(value)
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
