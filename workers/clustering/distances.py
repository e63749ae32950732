"""Euclidean distances between clients' weights."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

LARGEST_SQUARE = 1e300
"""A client beyond this diverged: sums of such squares would overflow."""


def squared_distances(layers: Iterable[np.ndarray]) -> np.ndarray:
    """All pairs of rows over all layers together; infinite to and from a row that diverged.

    Rows of a layer are centred first: close models have products far larger than their distance.
    """
    squares: np.ndarray | float = 0.0
    diverged: np.ndarray | bool = False
    for layer in layers:
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = np.square(layer, dtype=np.float64).sum(1)
        lost = ~(sizes < LARGEST_SQUARE)
        squares, diverged = squares + of_layer(np.where(lost[:, None], 0, layer)), diverged | lost
    result = np.where(diverged | np.reshape(diverged, (-1, 1)), np.inf, squares)
    np.fill_diagonal(result, 0)
    return result


def of_layer(layer: np.ndarray) -> np.ndarray:
    centred = layer.astype(np.float64) - layer.mean(0, dtype=np.float64)
    products = centred @ centred.T
    own = products.diagonal()
    result: np.ndarray = np.maximum(own[:, None] + own - 2 * products, 0)
    return result
