"""The files a lab's own component consists of, what stands for their content, and whether it changed after it was read.

Python keeps the code that it once read: a process that notices another content must not take one for the other.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workers.catalog.component import Component
from workers.errors import Problem, SpecError

FileMark = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class ReadContent:
    """What a process read a component from: marks of all its files, and those that are not its own by their place."""

    imported: tuple[Path, ...]
    marks: tuple[FileMark, ...]


contents: dict[type[Component], ReadContent] = {}


class StalePluginError(SpecError):
    """This process read a plugin before its file got the content it has now."""


def remember_content(component: Component) -> None:
    """As it is now: to be called when its module has just been imported."""
    component_class = type(component)
    file = main_file(component_class)
    contents[component_class] = read_content(file)
    component_class.digest = content_digest(file)


def read_content(file: Path) -> ReadContent:
    imported = tuple(files_imported(file))
    return ReadContent(imported, file_marks(file, imported))


def require_unchanged(component: Component, path: str = "") -> None:
    """`path` is where a spec names the component."""
    if has_changed(component):
        message = f"Restart Tributary: {component.origin}, or a file that it needs, changed after it was read."
        raise StalePluginError([Problem(path or component.kind, message)], message)


def has_changed(component: Component) -> bool:
    """Sizes and times first; a file that was only touched is as good as before."""
    if not component.digest:
        return False
    component_class = type(component)
    file, content = main_file(component_class), contents[component_class]
    try:
        if file_marks(file, content.imported) == content.marks:
            return False
        if content_digest(file) != component.digest:
            return True
        contents[component_class] = read_content(file)
    except OSError:
        return True
    return False


def main_file(component_class: type[Component]) -> Path:
    return Path(sys.modules[component_class.__module__].__file__ or "")


def content_digest(file: Path) -> str:
    """Of the file, the private files beside it, which hold the part that computes, and whatever these import."""
    content = hashlib.sha256(file.read_bytes())
    for each in files_beside(file):
        content.update(each.name.encode() + each.read_bytes())
    for each in files_imported(file):
        content.update(os.path.relpath(each, file.parent).encode() + each.read_bytes())
    return content.hexdigest()[:12]


def files_beside(file: Path) -> list[Path]:
    return sorted(file.parent.rglob("*.py") if file.name == "__init__.py" else file.parent.glob("_*.py"))


def files_imported(file: Path) -> list[Path]:
    """Further ones that the file, or one it needs, names with a dot: `from .other import Base`."""
    own = {file, *files_beside(file)}
    known, waiting = set(own), list(own)
    while waiting:
        new = set(dotted_imports(waiting.pop())) - known
        known |= new
        waiting.extend(new)
    return sorted(known - own)


def dotted_imports(file: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            names = [folder, *(folder / alias.name for alias in node.names)]
            yield from (path for each in names for path in module_files(each))


def module_files(path: Path) -> Iterator[Path]:
    for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if file.is_file():
            yield file


def file_marks(file: Path, imported: tuple[Path, ...]) -> tuple[FileMark, ...]:
    """What changes with every edit; the time of change cannot be set by whoever copies a file."""
    files = [file, *files_beside(file), *imported]
    stats = [(str(each), each.stat()) for each in files]
    return tuple((name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino) for name, stat in stats)
