"""Where plugins lie: modules in folders, one package for each folder, and entry points of installed packages."""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from workers.catalog.component import Kind
from workers.catalog.plugins.checks import PluginProblem
from workers.home import ROOT

VARIABLE = "TRIBUTARY_PLUGINS"
GROUP = "tributary.components"
PACKAGE = "tributary_plugins"
SUBFOLDERS: dict[str, Kind] = {
    "datasets": "dataset",
    "models": "model",
    "partitions": "partition",
    "strategies": "strategy",
    "optimizers": "optimizer",
}


@dataclass(frozen=True)
class Place:
    """Something to import: a module, or one class. `kind` is what its folder's name promises."""

    name: str
    load: Callable[[], Any]
    kind: Kind | None = None


def places() -> Iterator[Place | PluginProblem]:
    for folder in folders():
        yield from in_folder(folder)
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        yield Place(entry_name(entry), entry.load)


def folders() -> list[Path]:
    """A relative folder counts from the project, so that every process finds the same one."""
    named = [each.strip() for each in os.environ.get(VARIABLE, "").split(os.pathsep)]
    return list(dict.fromkeys(ROOT / Path(each).expanduser() for each in named if each))


def entry_name(entry: EntryPoint) -> str:
    package = f" of {entry.dist.name}" if entry.dist else ""
    return f"entry point {entry.name} = {entry.value}{package}"


def in_folder(folder: Path) -> Iterator[Place | PluginProblem]:
    """Its files, then those of its subfolders that are called like the catalog's own."""
    if not folder.is_dir():
        yield PluginProblem(str(folder), f"There is no such folder: make it, or correct {VARIABLE}.")
        return
    package = package_of(folder)
    yield from modules(folder, package, None)
    for inner in sorted(each for each in folder.iterdir() if each.is_dir()):
        if inner.name in SUBFOLDERS:
            yield from modules(inner, f"{package}.{inner.name}", SUBFOLDERS[inner.name])
        elif is_overlooked(inner):
            known = ", ".join(f"{name}/" for name in SUBFOLDERS)
            yield PluginProblem(str(inner), f"Nothing is read from a folder of this name: call it one of {known}.")


def is_overlooked(folder: Path) -> bool:
    """Public, with Python in it, and no package of its own."""
    hidden = folder.name.startswith(("_", "."))
    return not hidden and not (folder / "__init__.py").exists() and any(folder.glob("*.py"))


def modules(folder: Path, package: str, kind: Kind | None) -> Iterator[Place]:
    """One place for each public file or package, in the order of their names."""
    for found in sorted(pkgutil.iter_modules([str(folder)]), key=lambda each: each.name):
        if not found.name.startswith("_") and not (kind is None and found.name in SUBFOLDERS):
            file = folder / found.name / "__init__.py" if found.ispkg else folder / f"{found.name}.py"
            yield Place(str(file), importer(f"{package}.{found.name}"), kind)


def importer(name: str) -> Callable[[], ModuleType]:
    return lambda: importlib.import_module(name)


def package_of(folder: Path) -> str:
    """Makes the folder a package, so that its files can import each other: `from ._mine import Server`."""
    mark = hashlib.sha256(str(folder).encode()).hexdigest()[:6]
    word = re.sub(r"\W", "_", folder.name)
    name = f"{PACKAGE}.{word}_{mark}"
    make_package(PACKAGE, [])
    make_package(name, [str(folder)])
    return name


def make_package(name: str, path: list[str]) -> None:
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = path
        sys.modules[name] = package
