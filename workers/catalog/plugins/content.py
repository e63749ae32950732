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

FileMark = tuple[int, int, int, int] | None
IMPORTS_BY_TEXT = (b"importlib", b"__import__", b"pkgutil", b"runpy")
"""Where one of these stands, nobody can tell which files are imported: then all private ones beside it count."""


@dataclass(frozen=True)
class NeededFiles:
    """`own`: the package, or the private files beside a component's file that it needs; `others` lie elsewhere.

    `watched`: these, those that would be needed if they were there, and folders whose files all count.
    """

    own: tuple[Path, ...]
    others: tuple[Path, ...]
    watched: tuple[Path, ...]


@dataclass(frozen=True)
class ReadContent:
    """What a process read a component from."""

    watched: tuple[Path, ...]
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
    watched = needed_files(file).watched
    return ReadContent(watched, file_marks(watched))


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
        if file_marks(content.watched) == content.marks:
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
    """Of the file and of whatever it needs, so that an edit of one helper is none of its neighbours."""
    content, needed = hashlib.sha256(file.read_bytes()), needed_files(file)
    for each in needed.own:
        content.update(each.name.encode() + each.read_bytes())
    for each in needed.others:
        content.update(os.path.relpath(each, file.parent).encode() + each.read_bytes())
    return content.hexdigest()[:12]


def needed_files(file: Path) -> NeededFiles:
    """A package needs all its files; any other file what it imports, and what that imports, and so on."""
    whole = file.name == "__init__.py"
    around = file.parent / "__init__.py"  # which Python reads first
    known = {file, *file.parent.rglob("*.py")} if whole else {each for each in (file, around) if each.is_file()}
    waiting, watched = list(known), {file, around, *known, *({each.parent for each in known} if whole else ())}
    while waiting:
        candidates = import_candidates(waiting.pop())
        watched |= candidates
        new = {each for each in candidates if each.is_file()} - known
        known |= new
        waiting.extend(new)
    own = {each for each in known if is_own(each, file)}
    return NeededFiles(tuple(sorted(own)), tuple(sorted(known - own - {file})), tuple(sorted(watched)))


def is_own(each: Path, file: Path) -> bool:
    if file.name == "__init__.py":
        return each.is_relative_to(file.parent)
    return each.parent == file.parent and each.name.startswith("_")


def import_candidates(file: Path) -> set[Path]:
    """Files that its imports may mean, whether they are there or not; a folder where it may import any."""
    source = file.read_bytes() if file.is_file() else b""
    beside = {file.parent, *file.parent.glob("_*.py")} if any(each in source for each in IMPORTS_BY_TEXT) else set()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return beside
    return beside | {path for node in ast.walk(tree) for path in imported_paths(node, file)}


def imported_paths(node: ast.AST, file: Path) -> Iterator[Path]:
    """`from .other import Base`; of installed packages also `from lab.strategies._mine import Server`."""
    if isinstance(node, ast.ImportFrom) and node.level:
        folder = file.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        for each in (folder, *(folder / alias.name for alias in node.names)):
            yield from module_paths(each)
    elif isinstance(node, ast.ImportFrom | ast.Import):
        names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        private = {word for name in names for word in name.split(".") if word.startswith("_")}
        yield from (file.parent / f"{word}.py" for word in private)


def module_paths(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.py"), path / "__init__.py"


def module_files(path: Path) -> Iterator[Path]:
    return (file for file in module_paths(path) if file.is_file())


def file_marks(files: tuple[Path, ...]) -> tuple[FileMark, ...]:
    """What changes with every edit; the time of change cannot be set by whoever copies a file."""
    return tuple(map(file_mark, files))


def file_mark(file: Path) -> FileMark:
    try:
        stat = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
