"""Where plugins lie: modules in folders, one package for each folder, and entry points of installed packages."""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from workers.catalog.component import Kind
from workers.catalog.plugins.checks import PluginProblem
from workers.home import ROOT

FOLDERS_VARIABLE = "TRIBUTARY_PLUGINS"
ENTRY_POINT_GROUP = "tributary.components"
PARENT_PACKAGE = "tributary_plugins"
SUBFOLDERS: dict[str, Kind] = {
    "datasets": "dataset",
    "models": "model",
    "partitions": "partition",
    "strategies": "strategy",
    "optimizers": "optimizer",
}


@dataclass(frozen=True)
class PluginSource:
    """Something to import: a module, or one class. `kind` is what its folder's name promises."""

    name: str
    load: Callable[[], Any]
    kind: Kind | None = None


def plugin_sources() -> Iterator[PluginSource | PluginProblem]:
    for folder in plugin_folders():
        yield from folder_sources(folder)
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda each: (each.name, each.value)):
        yield PluginSource(entry_point_name(entry), entry.load)


def plugin_folders() -> list[Path]:
    """A relative folder counts from the project, so that every process finds the same one."""
    names = [each.strip() for each in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)]
    return list(dict.fromkeys(ROOT / Path(each).expanduser() for each in names if each))


def entry_point_name(entry: EntryPoint) -> str:
    package = f" of {entry.dist.name}" if entry.dist else ""
    return f"entry point {entry.name} = {entry.value}{package}"


def folder_sources(folder: Path) -> Iterator[PluginSource | PluginProblem]:
    """Its files, then those of its subfolders that are called like the catalog's own."""
    if not folder.is_dir():
        yield PluginProblem(str(folder), f"There is no such folder: make it, or correct {FOLDERS_VARIABLE}.")
        return
    package = folder_package(folder)
    yield from module_sources(folder, package, None)
    for inner in sorted(each for each in folder.iterdir() if each.is_dir()):
        if inner.name in SUBFOLDERS:
            yield from module_sources(inner, f"{package}.{inner.name}", SUBFOLDERS[inner.name])
        elif is_overlooked(inner):
            known = ", ".join(f"{name}/" for name in SUBFOLDERS)
            yield PluginProblem(str(inner), f"Nothing is read from a folder of this name: call it one of {known}.")


def is_overlooked(folder: Path) -> bool:
    """Public, with Python in it, and no package of its own."""
    hidden = folder.name.startswith(("_", "."))
    return not hidden and not (folder / "__init__.py").exists() and any(folder.glob("*.py"))


def module_sources(folder: Path, package: str, kind: Kind | None) -> Iterator[PluginSource]:
    """One source for each public file or package, in the order of their names."""
    for module in sorted(pkgutil.iter_modules([str(folder)]), key=lambda each: each.name):
        if not module.name.startswith("_") and not (kind is None and module.name in SUBFOLDERS):
            file = folder / module.name / "__init__.py" if module.ispkg else folder / f"{module.name}.py"
            yield PluginSource(str(file), module_importer(f"{package}.{module.name}"), kind)


def module_importer(name: str) -> Callable[[], ModuleType]:
    return lambda: importlib.import_module(name)


def folder_package(folder: Path) -> str:
    """Makes the folder a package, so that its files can import each other: `from ._mine import Server`."""
    mark = hashlib.sha256(str(folder).encode()).hexdigest()[:6]
    word = re.sub(r"\W", "_", folder.name)
    name = f"{PARENT_PACKAGE}.{word}_{mark}"
    find_by_source()
    make_package(PARENT_PACKAGE, [])
    make_package(name, [str(folder)])
    return name


def make_package(name: str, path: list[str]) -> None:
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = path
        sys.modules[name] = package


class SourceOnlyLoader(SourceFileLoader):
    """Reads the file itself. What Python compiled before counts as current while second and size of the file are the

    same: two quick edits would be one.
    """

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class PluginFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{PARENT_PACKAGE}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = SourceOnlyLoader(fullname, spec.loader.path)
        return spec


def find_by_source() -> None:
    if not any(isinstance(finder, PluginFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, PluginFinder())
