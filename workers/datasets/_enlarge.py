"""Pictures made larger by bilinear interpolation, without an imaging library."""

from __future__ import annotations

import numpy as np

BATCH = 4096
"""So many pictures are computed at once, so that the floats in between take little memory."""


def enlarge_pictures(pictures: np.ndarray, side: int) -> np.ndarray:
    """Square byte pictures (n, channels, height, width) to that many pixels on a side."""
    weights = interpolation_weights(pictures.shape[-1], side)
    result = np.empty((*pictures.shape[:2], side, side), np.uint8)
    for first in range(0, len(pictures), BATCH):
        batch = pictures[first : first + BATCH].astype(np.float32)
        result[first : first + BATCH] = np.rint(weights @ batch @ weights.T)
    return result


def interpolation_weights(inputs: int, outputs: int) -> np.ndarray:
    """A row for each output pixel: how much each input pixel counts. Corners of both pictures lie on each other."""
    places = (np.arange(outputs) + 0.5) * inputs / outputs - 0.5
    near = np.clip(places, 0, inputs - 1)
    left = np.minimum(np.floor(near).astype(int), inputs - 2)
    weights = np.zeros((outputs, inputs), np.float32)
    weights[np.arange(outputs), left] = 1 - (near - left)
    weights[np.arange(outputs), left + 1] += near - left
    return weights
