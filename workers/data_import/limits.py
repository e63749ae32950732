"""How large an import may be, and room on disk for what does not fit into memory."""

from __future__ import annotations

import math
import os
import tempfile

import numpy as np

from workers.errors import DatasetError
from workers.home import home

MOST_BYTES = 8 * 2**30
"""Of samples, as they are stored."""
MOST_ROWS = 20_000_000
MOST_FILES = 2_000_000
MOST_COLUMNS = 10_000
MOST_FEATURES = 20_000
MOST_CATEGORIES = 1_000
"""Of one column: more are hardly categories but names, dates or free text."""
MOST_CLASSES = 10_000
MOST_CLIENTS = 1_000_000
MOST_PIXELS = 50_000_000
"""Of one picture, before it is made smaller."""


def refuse_oversize(size: int) -> None:
    if size > MOST_BYTES:
        raise DatasetError(
            f"It would take {size / 2**30:,.1f} GB, and {MOST_BYTES / 2**30:.0f} GB is the most: leave columns out, "
            "make pictures smaller, or split it up."
        )


def scratch_array(shape: tuple[int, ...], kind: type[np.generic]) -> np.ndarray:
    """An array in a file without a name, which is gone with the process; a full disk is told before it is written."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    if not size:
        return np.empty(shape, kind)
    home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=home()) as file:
        os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, kind, "r+", shape=shape)
