"""The apps of a lab: folders named by `TRIBUTARY_APPS`, and versions kept in TRIBUTARY_HOME by their content's hash.

    apps/NAME/current      the hash of the version that new studies take; absent once the app was removed
    apps/NAME/HASH/        a version, never changed: queued, resumed and repeated runs take the one they began with

An app of a folder wins over an added one of its name; its content is kept as a version when a study is launched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from workers.apps.archive import unpack
from workers.apps.package import (
    MANIFEST,
    NAME,
    AppError,
    AppPackage,
    content_files,
    content_hash,
    read_manifest,
    read_package,
)
from workers.home import home

CURRENT = "current"
ARCHIVES = (".zip", ".fab")


@dataclass(frozen=True)
class LibraryApp:
    """An app by name: its package, or the reason why it cannot be used. `origin` is "folder" or "added"."""

    name: str
    origin: str
    package: AppPackage | None
    problem: str = ""


def library_folder() -> Path:
    return home() / "apps"


@dataclass(frozen=True)
class AppPlace:
    """Where an app lies, and the name it says it has: not more is read of the others when one is looked for."""

    name: str
    origin: str
    folder: Path


def list_apps() -> list[LibraryApp]:
    """By name; those that cannot be read are listed with their reason."""
    apps: dict[str, LibraryApp] = {}
    for place in app_places():
        apps.setdefault(place.name, library_app(place))
    return sorted(apps.values(), key=lambda app: app.name.lower())


def find_app(name: str) -> AppPackage:
    """The version of that app which a new study takes."""
    for place in app_places():
        if place.name == name:
            app = library_app(place)
            if app.package is None:
                raise AppError(f"The app {name} cannot be used: {app.problem}")
            return app.package
    known = ", ".join(app.name for app in list_apps()) or "none yet: `manage.py apps add PATH` adds one"
    raise AppError(f"There is no app {name}. Known: {known}.")


def app_places() -> Iterator[AppPlace]:
    """Each folder of TRIBUTARY_APPS is an app, or has apps in it; then those that were added."""
    for entry in filter(None, os.environ.get("TRIBUTARY_APPS", "").split(os.pathsep)):
        root = Path(entry).expanduser()
        if (root / MANIFEST).is_file() or not root.is_dir():
            yield AppPlace(written_name(root), "folder", root)
        else:
            for folder in sorted(root.iterdir()):
                if (folder / MANIFEST).is_file():
                    yield AppPlace(written_name(folder), "folder", folder)
    library = library_folder()
    for pointer in sorted(library.glob(f"*/{CURRENT}")) if library.is_dir() else ():
        yield AppPlace(pointer.parent.name, "added", pointer.parent / pointer.read_text().strip())


def written_name(folder: Path) -> str:
    """As the manifest says; the folder's own where it cannot be read."""
    try:
        stamp = (folder / MANIFEST).stat()
    except OSError:
        return folder.name
    return manifest_name(folder, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=1024)
def manifest_name(folder: Path, changed: int, size: int) -> str:
    """Of the manifest as it was then: a grid looks for its app again and again."""
    try:
        name = read_manifest(folder)["project"]["name"]
    except (AppError, OSError, KeyError, TypeError):
        return folder.name
    return name if isinstance(name, str) and NAME.fullmatch(name) else folder.name


def library_app(place: AppPlace) -> LibraryApp:
    if not place.folder.is_dir():
        problem = f"TRIBUTARY_APPS names {place.folder}, which is not a folder."
        return LibraryApp(place.name, place.origin, None, problem)
    try:
        return LibraryApp(place.name, place.origin, read_package(place.folder))
    except (AppError, OSError) as error:
        return LibraryApp(place.name, place.origin, None, str(error))


def add_app(source: Path | IO[bytes]) -> AppPackage:
    """A folder or an archive becomes the version that new studies take. Nothing is left of one that is refused."""
    library_folder().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".draft-", dir=library_folder()) as draft:
        folder = Path(draft) / "app"
        if isinstance(source, Path) and source.is_dir():
            copy_content(source, folder)
        elif isinstance(source, Path) and source.suffix.lower() not in ARCHIVES:
            raise AppError(f"{source.name} is neither a folder nor a .zip or .fab.")
        else:
            folder.mkdir()
            unpack(source, folder)
        package = read_package(folder)
        kept = keep_version(package)
    pointer = library_folder() / package.name / CURRENT
    write_pointer(pointer, package.hash)
    return kept


def keep_version(package: AppPackage) -> AppPackage:
    """The same package below TRIBUTARY_HOME, where it stays as it is."""
    target = version_folder(package.name, package.hash)
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".draft-", dir=target.parent) as draft:
            copy = Path(draft) / "app"
            copy_content(package.folder, copy)
            if content_hash(copy) != package.hash:
                raise AppError(f"{package.name} was changed while it was read: try again.")
            try:
                copy.rename(target)
            except OSError:
                if not target.is_dir():
                    raise
    return read_package(target)


def find_version(name: str, digest: str) -> AppPackage:
    """The version with that hash, still as it was; an `AppError` where it is gone or was changed."""
    folder = version_folder(name, digest)
    if not folder.is_dir():
        raise AppError(f"The version {digest[:12]} of {name} is not in this TRIBUTARY_HOME any more: relaunch.")
    package = read_package(folder)
    if package.hash != digest:
        raise AppError(f"The files of {name} {digest[:12]} were changed after its launch: relaunch.")
    return package


def version_folder(name: str, digest: str) -> Path:
    return library_folder() / name / digest


def remove_app(name: str) -> None:
    """No new study can take it; its versions stay for the runs that have them."""
    pointer = library_folder() / name / CURRENT
    if not NAME.fullmatch(name) or not pointer.is_file():
        raise AppError(f"There is no added app {name}. An app of a folder is removed from TRIBUTARY_APPS.")
    pointer.unlink()


def write_pointer(pointer: Path, digest: str) -> None:
    draft = pointer.with_name(f".{CURRENT}")
    draft.write_text(digest)
    draft.replace(pointer)


def copy_content(source: Path, target: Path) -> None:
    target.mkdir()
    for path in content_files(source):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
