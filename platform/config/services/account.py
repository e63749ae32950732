"""As root, the embedded servers run under a system account that owns nothing else.

That account must reach data and programs without anybody's home being opened to it. So both live below
/var/lib/tributary, which root owns and everybody may pass through; the data folder itself is the account's alone.
"""

from __future__ import annotations

import os
import pwd
import shutil
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
