"""The numbers of a federation: who holds how many samples of which class, and how far apart clients are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from workers.client_data.holdings import Holdings
from workers.client_data.pictures import shown_clients

DRAWN = 300
"""Clients whose classes are kept one by one; of more, so many at even distances."""
EVERY_PAIR = 200
PAIRS = EVERY_PAIR * (EVERY_PAIR - 1) // 2
EVEN = 1.5
IID = "Labels are spread evenly: this partition is IID in its labels."


@dataclass(frozen=True)
class Portrait:
    """Entropies in bits; the distance is Jensen-Shannon's, from 0 (same labels) to 1 (no label in common)."""

    dataset: str
    samples: int
    classes: tuple[str, ...]
    sizes: tuple[int, ...]
    """Of every client that takes part; the shared one's too."""
    held: tuple[int, ...]
    """How many classes each of them holds."""
    entropies: tuple[float, ...]
    mean_entropy: float
    distance: float | None
    pairs: int
    """How many pairs of clients the distance is a mean of."""
    clients: tuple[int, ...]
    """The clients that `counts` has a row for; -1 is the shared one."""
    counts: tuple[tuple[int, ...], ...]
    shared: int | None
    """Samples in the shared data set, where there is one."""
    pictured: tuple[int, ...]
    """The clients whose samples are shown as pictures, a row each."""
    warnings: tuple[str, ...]

    @property
    def most_entropy(self) -> float:
        return math.log2(len(self.classes))


def portrait_info(holdings: Holdings) -> Portrait:
    facts = holdings.spec.dataset_facts
    table = class_counts(holdings, facts.classes)
    names = facts.class_names or tuple(map(str, range(facts.classes)))
    distance, pairs = mean_distance(table)
    rows = drawn_rows(len(table))
    entropies = entropy(shares(table))
    pool = next((len(client.train) for client in holdings.clients if client.shared), None)
    return Portrait(
        dataset=holdings.spec.dataset.name,
        samples=int(table.sum()),
        classes=names[: facts.classes],
        sizes=tuple(table.sum(1).tolist()),
        held=tuple((table > 0).sum(1).tolist()),
        entropies=tuple(round(each, 4) for each in entropies.tolist()),
        mean_entropy=round(float(entropies.mean()), 4),
        distance=distance,
        pairs=pairs,
        clients=tuple(holdings.clients[row].index for row in rows),
        counts=tuple(tuple(table[row].tolist()) for row in rows),
        shared=pool,
        pictured=tuple(client.index for client in shown_clients(holdings.clients)) if facts.is_image else (),
        warnings=tuple(warnings(holdings, table, pool)),
    )


def class_counts(holdings: Holdings, classes: int) -> np.ndarray:
    """Clients x classes, in one pass over the labels."""
    labels = np.asarray(holdings.arrays.train_y)
    sizes = [len(client.train) for client in holdings.clients]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    held = labels[np.concatenate([client.train for client in holdings.clients])]
    return np.bincount(owner * classes + held, minlength=len(sizes) * classes).reshape(len(sizes), classes)


def shares(table: np.ndarray) -> np.ndarray:
    result: np.ndarray = table / table.sum(1, keepdims=True)
    return result


def entropy(p: np.ndarray) -> np.ndarray:
    """In bits, over the last axis; 0 log 0 is 0."""
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    result: np.ndarray = np.abs((p * logs).sum(-1))
    return result


def mean_distance(table: np.ndarray) -> tuple[float | None, int]:
    """Over all pairs of up to 200 clients; over as many fixed random pairs of more."""
    if len(table) < 2:
        return None, 0
    first, second = some_pairs(len(table))
    p = shares(table)
    own = entropy(p)
    divergence = entropy((p[first] + p[second]) / 2) - (own[first] + own[second]) / 2
    return round(float(np.sqrt(np.clip(divergence, 0, 1)).mean()), 4), len(first)


def some_pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    if count <= EVERY_PAIR:
        first, second = np.triu_indices(count, 1)
        return first, second
    rng = np.random.default_rng(0)
    first = rng.integers(count, size=PAIRS)
    return first, (first + rng.integers(1, count, size=PAIRS)) % count


def drawn_rows(count: int) -> list[int]:
    return [int(row) for row in np.unique(np.linspace(0, count - 1, min(count, DRAWN)).astype(int))]


def warnings(holdings: Holdings, table: np.ndarray, pool: int | None) -> list[str]:
    found = [IID] if spread_evenly(table) else []
    hybrid = holdings.spec.hybrid
    if hybrid.ratio and pool is None:
        found.append(f"Hybrid ratio {hybrid.ratio:g} rounds down to nothing: no data is shared.")
    if (gone := len(holdings.parts) - sum(not client.shared for client in holdings.clients)) and pool is None:
        found.append(f"{gone} of {len(holdings.parts)} clients hold nothing and take no part.")
    return found


def spread_evenly(table: np.ndarray) -> bool:
    """Whether clients differ in their labels hardly more than chance makes equal ones differ.

    Pearson's statistic of the table over its degrees of freedom is about 1 where labels are dealt at random, less where
    they are dealt out evenly, and grows with any real skew.
    """
    seen = table[:, table.any(0)]
    freedom = (seen.shape[0] - 1) * (seen.shape[1] - 1)
    if freedom < 1:
        return False
    expected = np.outer(seen.sum(1), seen.sum(0)) / seen.sum()
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return bool(statistic / freedom <= EVEN)
