"""The catalog: every component that can be launched, found by looking at the files in its folder."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, create_model

from workers.component import Component, Dataset, Kind, Model, Optimizer, Parameters, Partition, Strategy

FOLDERS: dict[Kind, str] = {
    "dataset": "workers.datasets",
    "model": "workers.models",
    "partition": "workers.partitions",
    "strategy": "workers.strategies",
    "optimizer": "workers.optimizers",
}


class Catalog:
    """Components by kind and name. `catalog.strategies["fedprox"]`, `catalog.get("strategy", "fedprox")`."""

    def __init__(self, components: Mapping[Kind, Mapping[str, Component]]) -> None:
        self.components = components

    def get(self, kind: Kind, name: str) -> Component:
        return self.components[kind][name]

    def __iter__(self) -> Iterator[Component]:
        for found in self.components.values():
            yield from found.values()

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        return cast(Mapping[str, Dataset], self.components["dataset"])

    @property
    def models(self) -> Mapping[str, Model]:
        return cast(Mapping[str, Model], self.components["model"])

    @property
    def partitions(self) -> Mapping[str, Partition]:
        return cast(Mapping[str, Partition], self.components["partition"])

    @property
    def strategies(self) -> Mapping[str, Strategy]:
        return cast(Mapping[str, Strategy], self.components["strategy"])

    @property
    def optimizers(self) -> Mapping[str, Optimizer]:
        return cast(Mapping[str, Optimizer], self.components["optimizer"])

    def describe(self) -> dict[str, list[dict[str, Any]]]:
        """Everything launchable, as plain data: what form, REST and docs are derived from."""
        return {kind: [describe(each) for each in found.values()] for kind, found in self.components.items()}


def describe(component: Component) -> dict[str, Any]:
    return {
        "name": component.name,
        "label": component.label,
        "summary": component.summary,
        "paper": component.paper,
        "version": component.version,
        "schema": component.Params.model_json_schema(),
    }


def discover(kind: Kind) -> dict[str, Component]:
    """One component per public class in the folder's public files, sorted by name."""
    package = importlib.import_module(FOLDERS[kind])
    found: dict[str, Component] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            for component in components_in(importlib.import_module(f"{FOLDERS[kind]}.{module.name}"), kind):
                found[component.name] = component
    return dict(sorted(found.items()))


def components_in(module: Any, kind: Kind) -> Iterator[Component]:
    for value in vars(module).values():
        if is_component(value, kind) and value.__module__ == module.__name__:
            value.Params = with_name(value)
            yield value()


def is_component(value: Any, kind: Kind) -> bool:
    declared = inspect.isclass(value) and issubclass(value, Component) and not inspect.isabstract(value)
    return declared and value.kind == kind


class Undescribed(BaseModel):
    """Fields keep the descriptions they have; looking for more in the source costs 0.1 s a component."""

    model_config = ConfigDict(use_attribute_docstrings=False)


def with_name(component: type[Component]) -> type[Parameters]:
    """The component's parameters with its name as a fixed, tagged field."""
    literal = Literal[component.name]  # type: ignore[name-defined]
    return create_model(
        f"{component.__name__}Params",
        __base__=cast(tuple[type[Parameters], ...], (component.Params, Undescribed)),
        __module__=component.__module__,
        name=(literal, component.name),
    )


@cache
def load_catalog() -> Catalog:
    return Catalog({kind: discover(kind) for kind in FOLDERS})
