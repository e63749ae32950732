"""What a run leaves on disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from workers.home import run_folder


def remove_run_folders(runs: Iterable[int]) -> None:
    """Best effort: on a machine that did not compute the run there is nothing to remove."""
    for run in runs:
        shutil.rmtree(run_folder(run), ignore_errors=True)
