"""Tiny originals in their publishers' layouts."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np


def write_mnist(folder: Path, train: int = 40, test: int = 10) -> Path:
    """Pictures of 4 x 4 pixels, as idx.gz; labels go round the ten digits."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, count in (("train", train), ("t10k", test)):
        pixels = (np.arange(count * 16) % 256).astype(np.uint8).tobytes()
        labels = (np.arange(count) % 10).astype(np.uint8).tobytes()
        pictures = struct.pack(">4B3i", 0, 0, 8, 3, count, 4, 4) + pixels
        (folder / f"{stem}-images-idx3-ubyte.gz").write_bytes(gzip.compress(pictures))
        (folder / f"{stem}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(struct.pack(">4Bi", 0, 0, 8, 1, count) + labels)
        )
    return folder


def write_npz(path: Path, samples: int = 12) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, x=np.ones((samples, 3), np.float32), y=np.arange(samples) % 2)
    return path
