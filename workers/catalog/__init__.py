"""The catalog: every component that can be launched, found by looking at the files in its folder, and a lab's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from workers.catalog.component import Component, Dataset, Kind, Model, Optimizer, Partition, Strategy
from workers.catalog.discovery import PACKAGES, built_in_components
from workers.catalog.plugins import PluginProblem, dataset_failures, has_changed, plugin_components, read_anew

CHANGED = "It, or a file that it needs, changed after it was read: restart Tributary."


class Catalog:
    """Components by kind and name. `catalog.strategies["fedprox"]`, `catalog.get("strategy", "fedprox")`.

    `problems` has what is wrong with a lab's own components: those that are therefore not among them, data sets
    that were sound when they were read and fail now, and files that have another content by now.
    """

    def __init__(self, components: Mapping[Kind, dict[str, Component]], problems: Sequence[PluginProblem] = ()) -> None:
        self.components = components
        self.load_problems = problems

    @property
    def problems(self) -> list[PluginProblem]:
        self.refresh()
        failures = sorted(dataset_failures.copy().items())
        changed = sorted({each.origin for each in self if has_changed(each)})
        return [
            *self.load_problems,
            *(problem for (name, _), problem in failures if name in self.datasets),
            *(PluginProblem(origin, CHANGED) for origin in changed),
        ]

    def refresh(self) -> None:
        """Reads files of a lab's own that changed anew, where that is safe; the others are among the problems."""
        for by_name in self.components.values():
            for name, component in list(by_name.items()):
                if has_changed(component) and (new := read_anew(component)):
                    by_name[name] = new

    def check_plugin_datasets(self) -> None:
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
        for by_name in self.components.values():
            yield from by_name.values()

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
    def plugin_stamps(self) -> dict[str, int | str]:
        """A lab's own components, each with what stands for its content."""
        return {f"{each.kind} {each.name}": each.stamp for each in self if each.origin}

    def describe(self) -> dict[str, list[dict[str, Any]]]:
        """Everything launchable, as plain data: what form, REST and docs are derived from."""
        return {
            kind: [describe_component(each) for each in by_name.values()] for kind, by_name in self.components.items()
        }


def describe_component(component: Component) -> dict[str, Any]:
    return {
        "name": component.name,
        "label": component.label,
        "summary": component.summary,
        "paper": component.paper,
        "version": component.stamp,
        "plugin": component.origin,
        "schema": component.Params.model_json_schema(),
    }


def plugin_facts() -> dict[str, Any]:
    """What a worker tells about the lab's own components on its machine."""
    catalog = load_catalog()
    return {"plugins": catalog.plugin_stamps, "problems": [str(problem) for problem in catalog.problems]}


@cache
def load_catalog() -> Catalog:
    """Built-in components first, then a lab's own."""
    components = {kind: built_in_components(kind) for kind in PACKAGES}
    own, problems = plugin_components(components)
    for component in own:
        components[component.kind][component.name] = component
    return Catalog(components, tuple(problems))
