"""Sample pictures of clients, with the noise a run would give them, as PNG files made without an imaging library."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from workers.catalog import load_catalog
from workers.client_data.assignment import SampleAssignment
from workers.engine.clients import ClientData, Clients
from workers.engine.federation import feature_noise, scale_to_unit
from workers.spec import RunSpec

MOST_PICTURED_CLIENTS, PICTURES_PER_CLIENT = 12, 10
"""Clients shown, and pictures of each."""


def pictured_clients(clients: Clients) -> list[ClientData]:
    """Of many clients, some at even distances, and the shared one always."""
    own = clients.own_numbers
    places = np.unique(np.linspace(0, len(own) - 1, min(len(own), MOST_PICTURED_CLIENTS)).astype(int))
    shared = [] if clients.shared_row is None else [clients[clients.shared_row]]
    return [clients[clients.row(number)] for number in own[places].tolist()] + shared


def client_pictures(assignment: SampleAssignment) -> bytes | None:
    """One row for each shown client; None where samples are not pictures."""
    if not assignment.spec.dataset_facts.is_image:
        return None
    positions = partition_positions(assignment)
    shape = assignment.arrays.train_x.shape[1:]
    rows = []
    for client in pictured_clients(assignment.clients):
        indices = earliest_samples(client.train, positions)
        blank = np.ones((PICTURES_PER_CLIENT - len(indices), *shape), np.float32)
        rows.append(np.concatenate([*(noisy_sample(assignment, index, *positions[index]) for index in indices), blank]))
    return encode_png(picture_grid(as_pixels(np.concatenate(rows)), PICTURES_PER_CLIENT))


def partition_positions(assignment: SampleAssignment) -> np.ndarray:
    """For each sample its client and its place there in the partition: noise is drawn in that order."""
    positions = np.full((len(assignment.arrays.train_y), 2), -1, dtype=np.int64)
    for client, part in enumerate(assignment.parts):
        positions[part, 0] = client
        positions[part, 1] = np.arange(len(part))
    return positions


def earliest_samples(indices: np.ndarray, positions: np.ndarray) -> list[int]:
    """Those whose noise is drawn first: a later one costs all draws before it."""
    order = np.lexsort((positions[indices, 0], positions[indices, 1]))
    return [int(index) for index in indices[order[:PICTURES_PER_CLIENT]]]


def noisy_sample(assignment: SampleAssignment, index: int, client: int, position: int) -> np.ndarray:
    """A batch of one, with the noise that it has among all samples of its client; in [0, 1] but for that noise."""
    spec = assignment.spec
    sample = scale_to_unit(assignment.arrays.train_x[index : index + 1]).copy()
    if spec.feature_noise:
        noise = feature_noise(spec, client, len(assignment.parts), (position + 1, *sample.shape[1:]))[-1]
        sample += noise * noise_scale(spec)
    return sample


def noise_scale(spec: RunSpec) -> np.ndarray:
    """What noise is multiplied by to be that of pixels in [0, 1]: noise as a deviation is on normalised ones."""
    constants = load_catalog().datasets[spec.dataset.name].normalisation(spec.dataset.normalise)
    if constants is None or spec.feature_noise_kind == "variance":
        return np.ones((1, 1, 1), np.float32)
    return np.array(constants.std, np.float32).reshape(-1, 1, 1)


GREY, COLOUR = 0, 2


def encode_png(pixels: np.ndarray) -> bytes:
    """Height x width grey, or height x width x 3 colour values, 0 to 255."""
    height, width = pixels.shape[:2]
    rows = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(height, -1)
    # Each row starts with its filter; 0 is none.
    content = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    header = struct.pack(">2I5B", width, height, 8, GREY if pixels.ndim == 2 else COLOUR, 0, 0, 0)
    chunks = [png_chunk(b"IHDR", header), png_chunk(b"IDAT", zlib.compress(content, 3)), png_chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def as_pixels(samples: np.ndarray) -> np.ndarray:
    """Pictures (n, channels, height, width), as bytes or in [0, 1], as n x height x width (x 3 where in colour)."""
    values = samples if samples.dtype == np.uint8 else np.rint(np.clip(samples, 0, 1) * 255).astype(np.uint8)
    return values[:, :3].transpose(0, 2, 3, 1) if values.shape[1] >= 3 else values[:, 0]


def picture_grid(pictures: np.ndarray, columns: int, gap: int = 1) -> np.ndarray:
    """Pictures of one size in a grid, row by row; what is left over stays white."""
    count, height, width, *colour = pictures.shape
    rows = -(-count // columns)
    canvas = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, *colour), 255, np.uint8)
    for place, picture in enumerate(pictures):
        top, left = place // columns * (height + gap), place % columns * (width + gap)
        canvas[top : top + height, left : left + width] = picture
    return canvas
