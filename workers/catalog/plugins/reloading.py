"""A lab's own file that changed, read anew in a process that goes on: where that is safe, and not otherwise.

It is safe where the process never computes (it has no torch, so that nothing was built from the old code), and where
all that pages have drawn from the declaration stays as it was: name, words and parameters. Specs go on with the
parameters' class they know.
"""

from __future__ import annotations

import importlib
import sys
from threading import Lock
from types import ModuleType

from workers.catalog.component import Component, Dataset
from workers.catalog.discovery import component_classes
from workers.catalog.plugins.checks import make_checked_component
from workers.catalog.plugins.content import content_digest, contents, main_file, needed_files, remember_content
from workers.catalog.plugins.guard import light_imports_only

VALIDATORS = ("validators", "field_validators", "root_validators", "model_validators", "computed_fields")
one_at_a_time = Lock()
refused_digests: dict[type[Component], str] = {}
"""What a process must be restarted for: it is tried once for each content."""


def read_anew(component: Component) -> Component | None:
    """The component as its file has it now; None where that takes a restart."""
    if "torch" in sys.modules or isinstance(component, Dataset):
        return None
    with one_at_a_time:
        file = main_file(type(component))
        try:
            digest = content_digest(file)
            if refused_digests.get(type(component)) == digest:
                return None
            refused_digests[type(component)] = digest
            new = import_anew(component)
        except (Exception, SystemExit):
            return None
        if new is None or content_digest(file) != digest:
            return None
        type(new).Params, type(new).origin = type(component).Params, component.origin
        remember_content(new)
        for forgotten in (contents, refused_digests):
            forgotten.pop(type(component), None)
        return new


def import_anew(component: Component) -> Component | None:
    """Everything that it needs is imported again; where the result cannot be taken, all is as it was before."""
    needed = needed_files(main_file(type(component)))
    files = {str(each) for each in (*needed.own, *needed.others, main_file(type(component)))}
    before = {name: module for name, module in list(sys.modules.items()) if getattr(module, "__file__", None) in files}
    taken = False
    try:
        replace_modules(before, {})
        with light_imports_only():
            module = importlib.import_module(type(component).__module__)
            classes = [each for each in component_classes(module) if each.__name__ == type(component).__name__]
            new = make_checked_component(classes[0], component.kind)
        taken = is_same_declaration(component, new)
    finally:
        if not taken:
            replace_modules(before, before)
    return new if taken else None


def replace_modules(names: dict[str, ModuleType], modules: dict[str, ModuleType]) -> None:
    """In Python's table and in the packages they lie in, which `from . import name` asks first."""
    for name in names:
        sys.modules.pop(name, None)
        package, _, leaf = name.rpartition(".")
        vars(sys.modules.get(package, ModuleType(""))).pop(leaf, None)
    for name, module in modules.items():
        sys.modules[name] = module
        package, _, leaf = name.rpartition(".")
        if package in sys.modules:
            setattr(sys.modules[package], leaf, module)


def is_same_declaration(old: Component, new: Component) -> bool:
    """Validators are code that no schema shows."""
    if any(getattr(new.Params.__pydantic_decorators__, each) for each in VALIDATORS):
        return False
    return declaration(old) == declaration(new)


def declaration(component: Component) -> tuple[object, ...]:
    words = (component.kind, component.name, component.label, component.short_label, component.summary)
    return (*words, component.named_by, component.paper, component.Params.model_json_schema())
