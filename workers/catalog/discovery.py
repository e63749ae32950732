"""From the files of a package to the components of the catalog."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, create_model

from workers.catalog.component import Component, Kind, Parameters

PACKAGES: dict[Kind, str] = {
    "dataset": "workers.datasets",
    "model": "workers.models",
    "partition": "workers.partitions",
    "strategy": "workers.strategies",
    "optimizer": "workers.optimizers",
}


def built_in_components(kind: Kind) -> dict[str, Component]:
    """One component per complete class in the folder's public files, sorted by name."""
    package = importlib.import_module(PACKAGES[kind])
    components: dict[str, Component] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            for component_class in component_classes(importlib.import_module(f"{PACKAGES[kind]}.{module.name}")):
                if not inspect.isabstract(component_class) and component_class.kind == kind:
                    components[component_class.name] = make_component(component_class)
    return dict(sorted(components.items()))


def component_classes(module: ModuleType) -> Iterator[type[Component]]:
    """Component classes of the module's own, incomplete ones included; what it merely imports is another's."""
    for value in dict(vars(module)).values():
        if inspect.isclass(value) and issubclass(value, Component) and is_defined_in(value, module):
            yield value


def is_defined_in(value: type[Any], module: ModuleType) -> bool:
    return value.__module__ == module.__name__ or value.__module__.startswith(f"{module.__name__}.")


class KeepDescriptions(BaseModel):
    """Fields keep the descriptions they have; looking for more in the source costs 0.1 s a component."""

    model_config = ConfigDict(use_attribute_docstrings=False)


def make_component(component_class: type[Component]) -> Component:
    """The one instance there is, its parameters tagged with its name."""
    component_class.Params = tagged_parameters(component_class)
    return component_class()


def tagged_parameters(component: type[Component]) -> type[Parameters]:
    """The component's parameters with its name as a fixed, tagged field."""
    literal = Literal[component.name]  # type: ignore[name-defined]
    return create_model(
        f"{component.__name__}Params",
        __base__=cast(tuple[type[Parameters], ...], (component.Params, KeepDescriptions)),
        __module__=component.__module__,
        name=(literal, component.name),
    )
