"""PNG files from arrays of bytes, without an imaging library: the web server's image has none."""

from __future__ import annotations

import struct
import zlib

import numpy as np

GREY, COLOUR = 0, 2


def png(pixels: np.ndarray) -> bytes:
    """Height x width grey, or height x width x 3 colour values, 0 to 255."""
    height, width = pixels.shape[:2]
    rows = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(height, -1)
    # Each row starts with its filter; 0 is none.
    content = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    header = struct.pack(">2I5B", width, height, 8, GREY if pixels.ndim == 2 else COLOUR, 0, 0, 0)
    chunks = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(content, 3)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def as_pixels(samples: np.ndarray) -> np.ndarray:
    """Pictures (n, channels, height, width), as bytes or in [0, 1], as n x height x width (x 3 where in colour)."""
    values = samples if samples.dtype == np.uint8 else np.rint(np.clip(samples, 0, 1) * 255).astype(np.uint8)
    return values[:, :3].transpose(0, 2, 3, 1) if values.shape[1] >= 3 else values[:, 0]


def sprite(pictures: np.ndarray, columns: int, gap: int = 1) -> np.ndarray:
    """Pictures of one size in a grid, row by row; what is left over stays white."""
    count, height, width, *colour = pictures.shape
    rows = -(-count // columns)
    canvas = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, *colour), 255, np.uint8)
    for place, picture in enumerate(pictures):
        top, left = place // columns * (height + gap), place % columns * (width + gap)
        canvas[top : top + height, left : left + width] = picture
    return canvas
