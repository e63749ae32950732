"""Where everything that is not in the database lives: `TRIBUTARY_HOME`, by default `.tributary/` beside the code."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from uuid import UUID

ROOT = Path(__file__).resolve().parent.parent


def home() -> Path:
    """A relative folder counts from the project, so that every process finds the same one."""
    return ROOT / Path(os.environ.get("TRIBUTARY_HOME") or ".tributary").expanduser()


MIN_FREE_BYTES = 50_000_000
"""Below it no run is taken: on a full disk run after run would fail, and in a moment the whole queue."""


def free_bytes() -> int:
    """Of the disk that runs are saved to, or will be."""
    folder = home() / "runs"
    return shutil.disk_usage(next(each for each in (folder, *folder.parents) if each.exists())).free


def has_disk_space() -> bool:
    return free_bytes() >= MIN_FREE_BYTES


def run_folder(run: int) -> Path:
    return home() / "runs" / str(run)


def log_file(run: int) -> Path:
    return run_folder(run) / "log.txt"


def checkpoint_folder(run: int) -> Path:
    return run_folder(run) / "checkpoints"


def attempt_folder(run: int, token: UUID) -> Path:
    """Where an attempt writes whatever goes into a store elsewhere; it is gone once all is there."""
    return run_folder(run) / "attempts" / token.hex


def artifact_folder(run: int, token: UUID) -> Path:
    """An attempt writes below its own token, so that one which lost its lease overwrites nothing."""
    return run_folder(run) / "artifacts" / token.hex


def file_key(path: Path) -> str:
    """As the database and the store have it: relative to the home."""
    return path.relative_to(home()).as_posix()


def checkpoint_key(run: int, stored: str) -> str | None:
    """Of a checkpoint's stored path; older ones are whole paths of a home that may have moved.

    None where it is not of this run.
    """
    before, mark, name = stored.rpartition(f"runs/{run}/checkpoints/")
    plain = mark and "/" not in name and name not in ("", ".", "..")
    return f"{mark}{name}" if plain and (not before or before.endswith("/")) else None
