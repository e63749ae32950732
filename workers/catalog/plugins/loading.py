"""From sources to components: each is imported without heavy libraries and checked; none can harm another."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from workers.catalog.component import Component, Dataset, Kind
from workers.catalog.discovery import component_classes
from workers.catalog.plugins.checks import PluginFaultError, PluginProblem, describe_fault, make_checked_component
from workers.catalog.plugins.content import remember_content
from workers.catalog.plugins.guard import light_imports_only
from workers.catalog.plugins.moved_modules import find_moved_modules
from workers.catalog.plugins.sources import PluginSource, plugin_sources
from workers.catalog.plugins.watch import watch_dataset

ComponentsByKind = Mapping[Kind, Mapping[str, Component]]


def plugin_components(known: ComponentsByKind) -> tuple[list[Component], list[PluginProblem]]:
    """All that have a place beside what is `known`, and what is wrong with the rest."""
    by_name = {(kind, name): each for kind, components in known.items() for name, each in components.items()}
    additions: list[Component] = []
    problems: list[PluginProblem] = []
    for source in plugin_sources():
        find_moved_modules()
        for result in [source] if isinstance(source, PluginProblem) else load_source(source):
            if isinstance(result, PluginProblem):
                problems.append(result)
            elif other := by_name.get((result.kind, result.name)):
                problems.append(PluginProblem(result.origin, name_conflict(result, other)))
            else:
                by_name[result.kind, result.name] = result
                additions.append(result)
    return additions, problems


def name_conflict(component: Component, other: Component) -> str:
    owner = f"the one in {other.origin}" if other.origin else "a built-in one"
    return f"There is {owner} of the name {component.name} already: give this {component.kind} another name."


def load_source(source: PluginSource) -> Iterator[Component | PluginProblem]:
    """Even a file that ends the process is told and left out."""
    try:
        with light_imports_only():
            classes = complete_classes(source.load())
    except (Exception, SystemExit) as error:
        yield PluginProblem(source.name, describe_fault(error))
        return
    for component_class in classes:
        try:
            with light_imports_only():
                component = make_checked_component(component_class, source.kind)
            type(component).origin = source.name
            remember_content(component)
            yield watch_dataset(component) if isinstance(component, Dataset) else component
        except (Exception, SystemExit) as error:
            yield PluginProblem(source.name, describe_fault(error))


def complete_classes(target: Any) -> list[type[Component]]:
    """Complete ones; an incomplete one may be a base of others, unless there are none."""
    classes = list(component_classes(target)) if isinstance(target, ModuleType) else [target]
    if wrong := [each for each in classes if not (inspect.isclass(each) and issubclass(each, Component))]:
        raise PluginFaultError(f"{wrong[0]!r} is no component: name a module or a class derived from Component.")
    complete = [each for each in classes if not inspect.isabstract(each)]
    if not complete:
        lacking = [f"{each.__name__} lacks {', '.join(sorted(each.__abstractmethods__))}()" for each in classes]
        reason = f": {'; '.join(lacking)}." if lacking else "; begin its name with an underscore if it is a helper."
        raise PluginFaultError(f"It declares no complete component{reason}")
    return complete
