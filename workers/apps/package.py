"""A Flower app on disk: what its `pyproject.toml` says, checked, and the hash of its content."""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from workers.errors import Problem, TributaryError

MANIFEST = "pyproject.toml"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
SEED_KEY = "seed"
IGNORED_FOLDERS = frozenset({".git", ".hg", ".info", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache"})
IGNORED_SUFFIXES = frozenset({".pyc", ".pyo"})
MOST_FILES = 2_000
MOST_BYTES = 200_000_000
MOST_MANIFEST_BYTES = 1_000_000

Scalar = bool | int | float | str


class AppError(TributaryError):
    """A folder or an archive that is not a Flower app that can be run here; the text says what to do."""


@dataclass(frozen=True)
class AppPackage:
    """`config` has the defaults under flat keys: a nested table's keys are joined by dots, as Flower does it."""

    folder: Path
    name: str
    version: str
    publisher: str
    description: str
    serverapp: str
    clientapp: str
    config: Mapping[str, Scalar]
    dependencies: tuple[str, ...]
    hash: str

    @property
    def takes_seed(self) -> bool:
        return SEED_KEY in self.config


def read_package(folder: Path) -> AppPackage:
    """The app in that folder, or an `AppError` with every problem of its manifest."""
    manifest = read_manifest(folder)
    problems = list(manifest_problems(manifest))
    if problems:
        raise AppError(f"{MANIFEST} does not describe a Flower app.", problems)
    project, app = manifest["project"], manifest["tool"]["flwr"]["app"]
    components = app["components"]
    return AppPackage(
        folder=folder,
        name=project["name"],
        version=str(project["version"]),
        publisher=str(app.get("publisher", "")),
        description=str(project.get("description", "")),
        serverapp=components["serverapp"],
        clientapp=components["clientapp"],
        config=flat_config(app.get("config", {})),
        dependencies=tuple(map(str, project.get("dependencies", ()))),
        hash=content_hash(folder),
    )


def read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise AppError(f"There is no {MANIFEST} in {folder.name}: a Flower app has one at its top.")
    if path.stat().st_size > MOST_MANIFEST_BYTES:
        raise AppError(f"{MANIFEST} is larger than {MOST_MANIFEST_BYTES // 1000:,} kB.")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AppError(f"{MANIFEST} cannot be read: {error}.") from None


def manifest_problems(manifest: Mapping[str, Any]) -> Iterator[Problem]:
    project, app = table(manifest, "project"), table(manifest, "tool.flwr.app")
    name = project.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield Problem("project.name", "A name of letters, digits, dots, dashes and underscores, at most 100.")
    if not project.get("version"):
        yield Problem("project.version", "The app's version is missing.")
    if not isinstance(project.get("dependencies", []), list):
        yield Problem("project.dependencies", "A list of requirements.")
    components = table(app, "components")
    for key in ("serverapp", "clientapp"):
        reference = components.get(key)
        if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
            yield Problem(f"tool.flwr.app.components.{key}", 'Where it is, as in "my_app.server_app:app".')
    yield from config_problems(table(app, "config"), "tool.flwr.app.config")


def config_problems(config: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for key, value in config.items():
        place = f"{path}.{key}"
        if isinstance(value, dict):
            yield from config_problems(value, place)
        elif not isinstance(value, bool | int | float | str):
            yield Problem(place, "A number, text, true or false, or a table of those: Flower takes nothing else.")
        elif isinstance(value, float) and not math.isfinite(value):
            yield Problem(place, "A finite number.")


def table(parent: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The table at that dotted path; empty where there is none, or something else."""
    for key in path.split("."):
        value = parent.get(key)
        parent = value if isinstance(value, dict) else {}
    return parent


def flat_config(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= flat_config(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def content_hash(folder: Path) -> str:
    """Hex SHA-256 over the names and bytes of all files that can matter to a run."""
    files = content_files(folder)
    stamps = [path.stat() for path in files]
    return hash_files(folder, tuple(files), tuple((stamp.st_mtime_ns, stamp.st_size) for stamp in stamps))


@lru_cache(maxsize=256)
def hash_files(folder: Path, files: tuple[Path, ...], stamps: tuple[tuple[int, int], ...]) -> str:
    """A grid asks for every cell: files with the same times and sizes are not read again."""
    digest = hashlib.sha256()
    for path in files:
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def content_files(folder: Path) -> list[Path]:
    """Sorted. Links are not followed, and refused: what they point to could change unseen."""
    files: list[Path] = []
    size = 0
    for path in walk(folder):
        if path.is_symlink():
            raise AppError(f"{path.relative_to(folder)} is a link: put the file itself there.")
        files.append(path)
        size += path.stat().st_size
        if len(files) > MOST_FILES or size > MOST_BYTES:
            raise AppError(
                f"An app may have {MOST_FILES:,} files and {MOST_BYTES // 1_000_000:,} MB: keep data outside of it, or "
                "let the app load them."
            )
    return sorted(files)


def walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in IGNORED_FOLDERS:
                yield from walk(path)
        elif path.suffix not in IGNORED_SUFFIXES:
            yield path
