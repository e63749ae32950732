"""Apps for pages, REST and the command line: what each offers, in what state it is, who uses it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from django.db.models import Q
from django.http import Http404

from experiments.core.errors import GoneError
from experiments.models import Study
from workers.apps.environments import install_log
from workers.apps.library import LibraryApp, library_folder, list_apps
from workers.apps.package import SEED_KEY, AppError, AppPackage, Scalar, read_package

KINDS: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "text"}
VERSION_FOLDER = re.compile(r"[0-9a-f]{64}")
MOST_STUDIES = 20
LOG_LINES = 30


@dataclass(frozen=True)
class ConfigField:
    """A key of an app's config, flat: what is in a nested table has a dotted one."""

    key: str
    kind: str
    default: Scalar

    @property
    def default_text(self) -> str:
        """As in the app's own file: text in quotes."""
        return json.dumps(self.default)

    @property
    def is_seed(self) -> bool:
        """The run's own seed is put there."""
        return self.key == SEED_KEY


@dataclass(frozen=True)
class AppCheck:
    """Whether an app can be imported: by which interpreter, or why not, and which requirements are not met.

    Not `tried` where this web server has no Flower beside it, as in an image of its own: workers have.
    """

    ok: bool
    problem: str = ""
    python: str = ""
    interpreter: str = ""
    missing: tuple[str, ...] = ()
    tried: bool = True


@dataclass(frozen=True)
class Installation:
    """What is installed for an app into an environment of its own: whether that goes on, and its last words."""

    busy: bool
    log: str


@dataclass(frozen=True)
class AppVersion:
    """A version that is kept; `number` is what its manifest calls it."""

    hash: str
    number: str
    kept: datetime
    current: bool


@dataclass(frozen=True)
class AppRow:
    app: LibraryApp
    check: AppCheck | None = None
    versions: tuple[AppVersion, ...] = ()
    studies: tuple[Study, ...] = field(default_factory=tuple)

    @property
    def fields(self) -> list[ConfigField]:
        return config_fields(self.app.package) if self.app.package else []

    @property
    def installation(self) -> Installation | None:
        return installation(self.app.package) if self.app.package else None

    @property
    def removable(self) -> bool:
        return self.app.origin == "added"


def app_rows() -> list[AppRow]:
    """By name; those that cannot be read have nothing but their reason."""
    return [app_row(app, studies_of_app(app.name)) for app in list_apps()]


def find_row(name: str) -> AppRow:
    return app_row(require_app(name), studies_of_app(name))


def row_or_404(name: str) -> AppRow:
    try:
        return find_row(name)
    except GoneError:
        raise Http404 from None


def require_app(name: str) -> LibraryApp:
    """As listed, be it usable or not."""
    app = next((each for each in list_apps() if each.name == name), None)
    if app is None:
        raise GoneError(f"There is no app {name}.")
    return app


def app_row(app: LibraryApp, studies: Iterable[Study]) -> AppRow:
    if app.package is None:
        return AppRow(app, studies=tuple(studies))
    return AppRow(app, read_check(app.package), app_versions(app.package), tuple(studies))


def config_fields(package: AppPackage) -> list[ConfigField]:
    return [ConfigField(key, KINDS[type(default)], default) for key, default in package.config.items()]


def usable_apps() -> list[AppPackage]:
    """Those a study can be made of."""
    return [app.package for app in list_apps() if app.package]


def studies_of_app(name: str) -> Iterable[Study]:
    """The newest that were written about it; an app's name may be an axis."""
    written = [[{"app": {"name": name}}], [{"app": {"name": [name]}}]]
    holds = Q(blocks__contains=written[0]) | Q(blocks__contains=written[1])
    return Study.objects.filter(holds).select_related("owner").order_by("-pk")[:MOST_STUDIES]


def app_versions(package: AppPackage) -> tuple[AppVersion, ...]:
    """Those that are kept, the newest first."""
    folder = library_folder() / package.name
    kept = [each for each in folder.iterdir() if VERSION_FOLDER.fullmatch(each.name)] if folder.is_dir() else []
    versions = [app_version(each, package) for each in kept]
    return tuple(sorted(versions, key=lambda version: version.kept, reverse=True))


def app_version(folder: Path, current: AppPackage) -> AppVersion:
    try:
        number = read_package(folder).version
    except (AppError, OSError):
        number = "unreadable"
    kept = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    return AppVersion(folder.name, number, kept, folder.name == current.hash)


def check_file(package: AppPackage) -> Path:
    return library_folder() / package.name / f"{package.hash}.check.json"


def read_check(package: AppPackage) -> AppCheck | None:
    """As found out last; None where nobody has tried."""
    try:
        return check_from(json.loads(check_file(package).read_text()))
    except (OSError, ValueError):
        return None


def check_from(answer: Mapping[str, Any]) -> AppCheck:
    return AppCheck(
        ok=bool(answer.get("ok")),
        problem=str(answer.get("problem", "")),
        python=str(answer.get("python", "")),
        interpreter=str(answer.get("interpreter", "")),
        missing=tuple(map(str, answer.get("missing", ()))),
    )


def busy_file(package: AppPackage) -> Path:
    """Holds the number of the process that installs."""
    return install_log(package).with_suffix(".busy")


def installation(package: AppPackage) -> Installation | None:
    """None where nothing was ever installed for it."""
    if not install_log(package).is_file() and not busy_file(package).is_file():
        return None
    return Installation(is_installing(package), last_lines(install_log(package)))


def is_installing(package: AppPackage) -> bool:
    """A process that died in the middle of it installs nothing any more."""
    try:
        return psutil.pid_exists(int(busy_file(package).read_text()))
    except (OSError, ValueError):
        return False


def last_lines(path: Path) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-LOG_LINES:])
    except OSError:
        return ""
