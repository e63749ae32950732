"""As root, the embedded servers run under a system account that owns nothing else.

That account must reach data and programs without anybody's home being opened to it. So both live below
/var/lib/tributary, which root owns and everybody may pass through; the data folder itself is the account's alone.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path

from config.home import Home
from workers.errors import TributaryError

ACCOUNT = "tributary-db"
SHARED = Path("/var/lib/tributary")


class ServiceError(TributaryError):
    """An embedded service that cannot be started."""


def is_root() -> bool:
    return os.geteuid() == 0


def server_account() -> str | None:
    """The account to start servers under; none as an ordinary user, who runs them as himself."""
    if not is_root():
        return None
    if not exists(ACCOUNT):
        make_account()
    return ACCOUNT


def exists(account: str) -> bool:
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
    made = program and subprocess.run([program, *flags, ACCOUNT], capture_output=True, check=False).returncode == 0
    if not made and not exists(ACCOUNT):
        raise ServiceError(
            f"PostgreSQL does not run as root and the system account {ACCOUNT} could not be made with useradd:"
            " run Tributary as an ordinary user, or set DATABASE_URL and REDIS_URL."
        )


def data_folder(home: Home, name: str) -> Path:
    """Below the home; as root below /var/lib/tributary, under a name the home remembers."""
    if not is_root():
        return home.path / name
    folder = make_shared(SHARED / home.secret("identity", 6)) / name
    link = home.path / name
    if not link.is_symlink():
        link.symlink_to(folder)
        (folder.parent / "home").write_text(f"{home.path}\n")  # tells an admin whose data these are
    return folder


def erase_data(home: Home, name: str) -> None:
    place = home.path / name
    folder = place.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    if place.is_symlink():
        place.unlink()
        (folder.parent / "home").unlink(missing_ok=True)
        folder.parent.rmdir()


def make_private(folder: Path, account: str | None) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    if account is not None:
        shutil.chown(folder, account, account)


def make_shared(folder: Path) -> Path:
    """Folders that anybody may pass through and only root may write."""
    try:
        for each in (SHARED, folder):
            each.mkdir(exist_ok=True)
            each.chmod(0o755)
    except OSError as error:
        raise ServiceError(
            f"{folder} cannot be made ({error.strerror}), where the servers' data live when root starts them:"
            " run Tributary as an ordinary user, or set DATABASE_URL and REDIS_URL."
        ) from None
    return folder


def reachable(program: Path, version: str) -> Path:
    """The program where the server account can run it: in place, or a copy of its tree below /var/lib/tributary."""
    if not is_root() or open_to_others(program):
        return program
    tree = program.parent.parent
    copy = SHARED / f"{tree.name}-{version}"
    if not copy.exists():
        copy_tree(tree, make_shared(copy.with_name(f".{copy.name}-{os.getpid()}")), copy)
    return copy / program.parent.name / program.name


def copy_tree(tree: Path, draft: Path, final: Path) -> None:
    shutil.copytree(tree, draft, symlinks=True, dirs_exist_ok=True)
    for path in draft.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o044))
    if final.exists():
        shutil.rmtree(draft)
    else:
        draft.replace(final)


def open_to_others(program: Path) -> bool:
    needed = stat.S_IROTH | stat.S_IXOTH
    folders = all(parent.stat().st_mode & stat.S_IXOTH for parent in program.resolve().parents)
    return folders and program.stat().st_mode & needed == needed
