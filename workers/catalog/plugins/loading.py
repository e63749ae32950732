"""From places to components: each is imported without heavy libraries, checked by itself, and none can harm another."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from workers.catalog.component import Component, Dataset, Kind
from workers.catalog.declaration import declared_in
from workers.catalog.plugins.checks import PluginFaultError, PluginProblem, checked, told
from workers.catalog.plugins.guard import light_imports_only
from workers.catalog.plugins.places import Place, places
from workers.catalog.plugins.watch import watch

Known = Mapping[Kind, Mapping[str, Component]]


def plugin_components(known: Known) -> tuple[list[Component], list[PluginProblem]]:
    """All that can be taken beside what is `known`, and what is wrong with the rest."""
    taken = {(kind, name): each for kind, found in known.items() for name, each in found.items()}
    components: list[Component] = []
    problems: list[PluginProblem] = []
    for place in places():
        for found in [place] if isinstance(place, PluginProblem) else loaded(place):
            if isinstance(found, PluginProblem):
                problems.append(found)
            elif other := taken.get((found.kind, found.name)):
                problems.append(PluginProblem(found.origin, already_taken(found, other)))
            else:
                taken[found.kind, found.name] = found
                components.append(found)
    return components, problems


def already_taken(component: Component, other: Component) -> str:
    owner = f"the one in {other.origin}" if other.origin else "a built-in one"
    return f"There is {owner} of the name {component.name} already: give this {component.kind} another name."


def loaded(place: Place) -> Iterator[Component | PluginProblem]:
    """Even a file that ends the process is told and left out."""
    try:
        with light_imports_only():
            classes = candidates(place.load())
    except (Exception, SystemExit) as error:
        yield PluginProblem(place.name, told(error))
        return
    for declared in classes:
        try:
            with light_imports_only():
                component = checked(declared, place.kind)
            type(component).origin, type(component).digest = place.name, digest_of(declared)
            yield watch(component) if isinstance(component, Dataset) else component
        except (Exception, SystemExit) as error:
            yield PluginProblem(place.name, told(error))


def candidates(loaded: Any) -> list[type[Component]]:
    """Complete ones; an incomplete one may be a base of others, unless there are none."""
    declared = list(declared_in(loaded)) if isinstance(loaded, ModuleType) else [loaded]
    if wrong := [each for each in declared if not (inspect.isclass(each) and issubclass(each, Component))]:
        raise PluginFaultError(f"{wrong[0]!r} is no component: name a module or a class derived from Component.")
    complete = [each for each in declared if not inspect.isabstract(each)]
    if not complete:
        lacking = [f"{each.__name__} lacks {', '.join(sorted(each.__abstractmethods__))}()" for each in declared]
        reason = f": {'; '.join(lacking)}." if lacking else "; begin its name with an underscore if it is a helper."
        raise PluginFaultError(f"It declares no complete component{reason}")
    return complete


def digest_of(declared: type[Component]) -> str:
    """Of the file and the private files beside it, which hold the part that computes."""
    file = Path(sys.modules[declared.__module__].__file__ or "")
    content = hashlib.sha256(file.read_bytes())
    beside = file.parent.rglob("*.py") if file.name == "__init__.py" else file.parent.glob("_*.py")
    for each in sorted(beside):
        content.update(each.name.encode() + each.read_bytes())
    return content.hexdigest()[:12]
