"""From a class that a file declares to a component of the catalog."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, create_model

from workers.catalog.component import Component, Parameters


def declared_in(module: ModuleType) -> Iterator[type[Component]]:
    """Component classes of the module's own, incomplete ones included; what it merely imports is another's."""
    for value in dict(vars(module)).values():
        if inspect.isclass(value) and issubclass(value, Component) and is_own(value, module):
            yield value


def is_own(value: type[Any], module: ModuleType) -> bool:
    return value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}.")


class Undescribed(BaseModel):
    """Fields keep the descriptions they have; looking for more in the source costs 0.1 s a component."""

    model_config = ConfigDict(use_attribute_docstrings=False)


def made(declared: type[Component]) -> Component:
    """The one instance there is, its parameters tagged with its name."""
    declared.Params = with_name(declared)
    return declared()


def with_name(component: type[Component]) -> type[Parameters]:
    """The component's parameters with its name as a fixed, tagged field."""
    literal = Literal[component.name]  # type: ignore[name-defined]
    return create_model(
        f"{component.__name__}Params",
        __base__=cast(tuple[type[Parameters], ...], (component.Params, Undescribed)),
        __module__=component.__module__,
        name=(literal, component.name),
    )
