"""Where the embedded servers are reached: Unix sockets in a folder that no other account may enter."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from config.home import Home
from config.services.account import ServiceError, is_root, make_server_folder, server_account, server_folder

LONGEST_PATH_BYTES = 107
"""Of a socket: the kernel keeps 108 bytes, the last of them is NUL."""
LONGEST_NAME = ".s.PGSQL.65535"


def socket_folder(home: Home) -> Path:
    """In the home; as root beside the servers' data; where the home's path is too long, below the system's /tmp.

    Not below XDG_RUNTIME_DIR: it goes when its person logs out, and the platform may stay.
    """
    if is_root():
        return server_folder(home) / "sockets"
    short_name = f"tributary-{home.secret('identity', 6)}"
    candidates = (home.path.absolute() / "sockets", Path(tempfile.gettempdir()) / short_name, Path("/tmp") / short_name)
    return next((each for each in candidates if can_hold_sockets(each)), candidates[-1])


def can_hold_sockets(folder: Path) -> bool:
    """libpq takes a comma for the end of a host's name."""
    return len(os.fsencode(folder / LONGEST_NAME)) <= LONGEST_PATH_BYTES and "," not in str(folder)


def make_socket_folder(home: Home) -> Path:
    """Refuses a folder that somebody else made, or may write: whoever listens there would be told passwords."""
    folder = socket_folder(home)
    account = server_account()
    if account is not None:
        make_server_folder(home)
    try:
        folder.mkdir(mode=0o700)
        if account is not None:
            shutil.chown(folder, account, account)
    except FileExistsError:
        pass
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or folder.owner() != (account or Path(f"/proc/{os.getpid()}").owner()):
        raise ServiceError(f"{folder} belongs to somebody else: remove it, the servers' sockets are made there.")
    folder.chmod(0o700)
    return folder
