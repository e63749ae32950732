"""Logs with an upper size: the last ten megabytes and the ten before."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LARGEST = 10_000_000


def cap_logs(folder: Path, largest: int = LARGEST) -> None:
    """Copies and empties instead of renaming: the writers hold these files open, in append mode."""
    for log in folder.glob("*.log"):
        if log.stat().st_size > largest:
            shutil.copyfile(log, log.with_suffix(".log.1"))
            log.with_suffix(".log.1").chmod(0o600)
            os.truncate(log, 0)
