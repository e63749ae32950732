"""From distances between weights to groups: DBSCAN, a neighbourhood from the minimum spanning tree, who joins later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

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
        too_large = ~(sizes < LARGEST_SQUARE)
        squares, diverged = squares + layer_distances(np.where(too_large[:, None], 0, layer)), diverged | too_large
    result = np.where(diverged | np.reshape(diverged, (-1, 1)), np.inf, squares)
    np.fill_diagonal(result, 0)
    return result


def layer_distances(layer: np.ndarray) -> np.ndarray:
    centred = layer.astype(np.float64) - layer.mean(0, dtype=np.float64)
    products = centred @ centred.T
    own = products.diagonal()
    result: np.ndarray = np.maximum(own[:, None] + own - 2 * products, 0)
    return result


CLEAR_GAP = 2.0
"""How many times longer than the next an edge of the minimum spanning tree must be to part two groups.

On MNIST after one local epoch neighbouring edges differ by a factor of 1.3 at most where clients hold the same classes,
and by 9 to 33 where groups of clients hold others (logistic regression, MLP and CNN).
"""
NOISE = -1
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Grouping:
    """Rows of the distance matrix in groups, ordered by their first row; `noise` are those DBSCAN gave no group."""

    groups: Groups
    noise: tuple[int, ...]
    eps: float
    edges: tuple[float, ...]


def group_rows(squares: np.ndarray, *, eps: float | None, min_samples: int, noise: str) -> Grouping:
    """DBSCAN on squared distances. `eps` None looks for a clear gap; noise is a group of its `own`, or `nearest`."""
    distances = np.sqrt(squares)
    eps = clear_eps(distances, min_samples) if eps is None else eps
    labels = single_group_labels(distances) if eps is None else dbscan(distances, eps, min_samples)
    clusters = [tuple(np.flatnonzero(labels == each).tolist()) for each in range(labels.max(initial=NOISE) + 1)]
    lonely = tuple(np.flatnonzero(labels == NOISE).tolist())
    groups = place_noise(squares, clusters, lonely, nearest=noise == "nearest")
    reach = largest_distance(distances) if eps is None else eps
    return Grouping(tuple(sorted(groups)), lonely, reach, tuple(tree_edges(distances).tolist()))


def tree_edges(distances: np.ndarray) -> np.ndarray:
    """Lengths of the minimum spanning tree's edges, longest first: where single linkage joins, there is one."""
    from scipy.cluster.hierarchy import linkage  # type: ignore[import-untyped]
    from scipy.spatial.distance import squareform  # type: ignore[import-untyped]

    if len(distances) < 2:
        return np.empty(0)
    finite = np.minimum(distances, np.finfo(np.float64).max)
    lengths = linkage(squareform(finite, checks=False), "single")[::-1, 2]
    edges: np.ndarray = np.where(lengths < np.finfo(np.float64).max, lengths, np.inf)
    return edges


def clear_eps(distances: np.ndarray, min_samples: int) -> float | None:
    """The middle of the clearest gap between the tree's edges that leaves two groups or more; None without one.

    A gap that cuts off single clients only, as an unusually large one is, makes no groups.
    """
    edges = tree_edges(distances)
    edges = edges[np.isfinite(edges)]
    longer, shorter = edges[:-1], edges[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(longer / shorter, nan=1.0)
    for at in np.argsort(-ratios, kind="stable"):
        if ratios[at] < CLEAR_GAP:
            break
        eps = float(longer[at] + shorter[at]) / 2
        if dbscan(distances, eps, min_samples).max(initial=NOISE) > 0:
            return eps
    return None


def single_group_labels(distances: np.ndarray) -> np.ndarray:
    """Labels of one group of all, but for those that diverged."""
    near = np.isfinite(distances).sum(1)
    return np.where(near >= min(2, len(distances)), 0, NOISE)


def largest_distance(distances: np.ndarray) -> float:
    return float(distances[np.isfinite(distances)].max())


def dbscan(distances: np.ndarray, eps: float, min_samples: int) -> np.ndarray:
    """Labels 0, 1, ... in the order of their first core row; -1 is noise. A neighbour is at most `eps` away."""
    from sklearn.cluster import dbscan as sklearn_dbscan  # type: ignore[import-untyped]

    within = distances <= eps
    _, labels = sklearn_dbscan(np.where(within, 0.0, 1.0), eps=0.5, min_samples=min_samples, metric="precomputed")
    result: np.ndarray = labels
    return result


def place_noise(
    squares: np.ndarray, groups: Sequence[tuple[int, ...]], lonely: Sequence[int], *, nearest: bool
) -> Groups:
    if not nearest or not groups:
        return (*groups, *((row,) for row in lonely))
    joined = [list(group) for group in groups]
    alone: list[tuple[int, ...]] = []
    for row in lonely:
        if np.isfinite(squares[row, list(groups[0])]).all():
            joined[nearest_group(squares, groups, row)].append(row)
        else:
            alone.append((row,))
    return (*(tuple(sorted(group)) for group in joined), *alone)


def nearest_group(squares: np.ndarray, groups: Sequence[Sequence[int]], row: int) -> int:
    """The group whose mean model is nearest: the server need not keep every client's weights for those who come later.

    |x - mean|^2 is the mean of |x - y|^2 over the group, less half the mean over all its pairs.
    """
    spreads = [squares[np.ix_(group, group)].mean() / 2 for group in groups]
    far = [squares[row, list(group)].mean() - spread for group, spread in zip(groups, spreads, strict=True)]
    return int(np.argmin(far))


def purity(groups: Sequence[Sequence[int]], truth: Sequence[Hashable]) -> float:
    """Share of the rows that are of the kind most common in their group."""
    most = [Counter(truth[row] for row in group).most_common(1)[0][1] for group in groups]
    return sum(most) / sum(map(len, groups))
