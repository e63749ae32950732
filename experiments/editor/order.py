"""The order in which people write a spec: RunSpec's own, a component's name before its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel

from workers.spec import RunSpec
from workers.spec.yaml import SpecLoader


def field_names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from field_names(field.annotation)


@cache
def places() -> dict[str, int]:
    names = dict.fromkeys(["name", "description", "tags", "blocks", *field_names(RunSpec)])
    return {name: place for place, name in enumerate(names)}


def place_of(key: str) -> int:
    return places().get(key, len(places()))


def in_spec_order(value: Any) -> Any:
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: (place_of(item[0]), item[0]))
        return {key: in_spec_order(each) for key, each in ordered}
    return [in_spec_order(each) for each in value] if isinstance(value, list) else value


class SpecDumper(yaml.SafeDumper):
    """Text that YAML 1.1 or our own rules would read as something else, such as `on` and `1e3`, is quoted."""

    yaml_implicit_resolvers = {
        start: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(start, []),
            *SpecLoader.yaml_implicit_resolvers.get(start, []),
        ]
        for start in {*yaml.SafeDumper.yaml_implicit_resolvers, *SpecLoader.yaml_implicit_resolvers}
    }


def spec_yaml(value: Any) -> str:
    return yaml.dump(
        in_spec_order(value),
        Dumper=SpecDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )
