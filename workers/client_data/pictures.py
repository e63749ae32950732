"""Sample pictures of clients, with the noise a run would give them, as PNG files made without an imaging library."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from workers.client_data.holdings import Holdings
from workers.engine.data.federation import ClientData, scaled
from workers.streams import stream

ROWS, COLUMNS = 12, 10
"""Clients shown, and pictures of each."""


def shown_clients(clients: tuple[ClientData, ...]) -> list[ClientData]:
    """Of many clients, some at even distances, and the shared one always."""
    own = [client for client in clients if not client.shared]
    chosen = np.unique(np.linspace(0, len(own) - 1, min(len(own), ROWS)).astype(int)).tolist()
    return [own[place] for place in chosen] + [client for client in clients if client.shared]


def client_pictures(holdings: Holdings) -> bytes | None:
    """One row for each shown client; None where samples are not pictures."""
    if not holdings.spec.dataset_facts.is_image:
        return None
    place = places(holdings)
    shape = holdings.arrays.train_x.shape[1:]
    rows = []
    for client in shown_clients(holdings.clients):
        some = earliest(client.train, place)
        blank = np.ones((COLUMNS - len(some), *shape), np.float32)
        rows.append(np.concatenate([*(noisy_sample(holdings, index, *place[index]) for index in some), blank]))
    return png(sprite(as_pixels(np.concatenate(rows)), COLUMNS))


def places(holdings: Holdings) -> np.ndarray:
    """For each sample its client and its place there in the partition: noise is drawn in that order."""
    found = np.full((len(holdings.arrays.train_y), 2), -1, dtype=np.int64)
    for client, part in enumerate(holdings.parts):
        found[part, 0] = client
        found[part, 1] = np.arange(len(part))
    return found


def earliest(indices: np.ndarray, place: np.ndarray) -> list[int]:
    """Those whose noise is drawn first: a later one costs all draws before it."""
    order = np.lexsort((place[indices, 0], place[indices, 1]))
    return [int(index) for index in indices[order[:COLUMNS]]]


def noisy_sample(holdings: Holdings, index: int, client: int, position: int) -> np.ndarray:
    """A batch of one. The same draws as `workers.engine.data.federation.noisy` makes for the whole client."""
    spec = holdings.spec
    sample = scaled(holdings.arrays.train_x[index : index + 1]).copy()
    if spec.feature_noise:
        draws = stream(spec.seed, "noise", client=client)
        noise = draws.standard_normal((position + 1, *sample.shape[1:]), dtype=np.float32)[-1]
        sample += noise * np.float32(np.sqrt(spec.feature_noise * (client + 1) / len(holdings.parts)))
    return sample


ACROSS, DOWN = 12, 3
"""Pictures in a row, and rows at most."""


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
