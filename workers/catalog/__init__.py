"""The catalog: every component that can be launched, found by looking at the files in its folder, and a lab's own."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from workers.catalog.component import Component, Dataset, Kind, Model, Optimizer, Partition, Strategy
from workers.catalog.declaration import declared_in, made
from workers.catalog.plugins import PluginProblem, failing, plugin_components

FOLDERS: dict[Kind, str] = {
    "dataset": "workers.datasets",
    "model": "workers.models",
    "partition": "workers.partitions",
    "strategy": "workers.strategies",
    "optimizer": "workers.optimizers",
}


class Catalog:
    """Components by kind and name. `catalog.strategies["fedprox"]`, `catalog.get("strategy", "fedprox")`.

    `problems` has what is wrong with a lab's own components: those that are therefore not among them, and data sets
    that were sound when they were read and fail now.
    """

    def __init__(
        self, components: Mapping[Kind, Mapping[str, Component]], problems: Sequence[PluginProblem] = ()
    ) -> None:
        self.components = components
        self.refused = problems

    @property
    def problems(self) -> list[PluginProblem]:
        now = sorted(failing.copy().items())
        return [*self.refused, *(problem for (name, _), problem in now if name in self.datasets)]

    def ask_own_data(self) -> None:
        """So that what fails now is among the problems."""
        for dataset in self.datasets.values():
            if dataset.origin:
                for params in dataset.editions():
                    dataset.facts(params)
                    dataset.checksum(params)
                    dataset.available(params)

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

    @property
    def own_stamps(self) -> dict[str, int | str]:
        """A lab's own components, each with what stands for its content."""
        return {f"{each.kind} {each.name}": each.stamp for each in self if each.origin}

    def describe(self) -> dict[str, list[dict[str, Any]]]:
        """Everything launchable, as plain data: what form, REST and docs are derived from."""
        return {kind: [describe(each) for each in found.values()] for kind, found in self.components.items()}


def describe(component: Component) -> dict[str, Any]:
    return {
        "name": component.name,
        "label": component.label,
        "summary": component.summary,
        "paper": component.paper,
        "version": component.stamp,
        "plugin": component.origin,
        "schema": component.Params.model_json_schema(),
    }


def built_in(kind: Kind) -> dict[str, Component]:
    """One component per complete class in the folder's public files, sorted by name."""
    package = importlib.import_module(FOLDERS[kind])
    found: dict[str, Component] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            for declared in declared_in(importlib.import_module(f"{FOLDERS[kind]}.{module.name}")):
                if not inspect.isabstract(declared) and declared.kind == kind:
                    found[declared.name] = made(declared)
    return dict(sorted(found.items()))


def plugin_facts() -> dict[str, Any]:
    """What a worker tells about the lab's own components on its machine."""
    catalog = load_catalog()
    return {"plugins": catalog.own_stamps, "problems": [str(problem) for problem in catalog.problems]}


@cache
def load_catalog() -> Catalog:
    """Built-in components first, then a lab's own."""
    components = {kind: built_in(kind) for kind in FOLDERS}
    own, problems = plugin_components(components)
    for component in own:
        components[component.kind][component.name] = component
    return Catalog(components, tuple(problems))
