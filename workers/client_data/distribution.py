"""The numbers of a federation: who holds how many samples of which class, and how far apart clients are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from workers.client_data.assignment import SampleAssignment
from workers.client_data.pictures import pictured_clients

MOST_ROWS = 300
"""Clients whose classes are kept one by one; of more, so many at even distances."""
MOST_CLIENTS_ALL_PAIRS = 200
SAMPLED_PAIRS = MOST_CLIENTS_ALL_PAIRS * (MOST_CLIENTS_ALL_PAIRS - 1) // 2
LARGEST_EVEN_STATISTIC = 1.5
IID_WARNING = "Labels are spread evenly: this partition is IID in its labels."


@dataclass(frozen=True)
class ClientDistribution:
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


def distribution_info(assignment: SampleAssignment) -> ClientDistribution:
    facts = assignment.spec.dataset_facts
    table = class_counts(assignment, facts.classes)
    names = facts.class_names or tuple(map(str, range(facts.classes)))
    distance, pairs = mean_label_distance(table)
    rows = row_indices(len(table))
    entropies = entropy_bits(class_shares(table))
    pool = next((len(client.train) for client in assignment.clients if client.shared), None)
    return ClientDistribution(
        dataset=assignment.spec.dataset.name,
        samples=int(table.sum()),
        classes=names[: facts.classes],
        sizes=tuple(table.sum(1).tolist()),
        held=tuple((table > 0).sum(1).tolist()),
        entropies=tuple(round(each, 4) for each in entropies.tolist()),
        mean_entropy=round(float(entropies.mean()), 4),
        distance=distance,
        pairs=pairs,
        clients=tuple(assignment.clients[row].index for row in rows),
        counts=tuple(tuple(table[row].tolist()) for row in rows),
        shared=pool,
        pictured=tuple(client.index for client in pictured_clients(assignment.clients)) if facts.is_image else (),
        warnings=tuple(distribution_warnings(assignment, table, pool)),
    )


def class_counts(assignment: SampleAssignment, classes: int) -> np.ndarray:
    """Clients x classes, in one pass over the labels."""
    labels = np.asarray(assignment.arrays.train_y)
    sizes = [len(client.train) for client in assignment.clients]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    client_labels = labels[np.concatenate([client.train for client in assignment.clients])]
    return np.bincount(owner * classes + client_labels, minlength=len(sizes) * classes).reshape(len(sizes), classes)


def class_shares(table: np.ndarray) -> np.ndarray:
    result: np.ndarray = table / table.sum(1, keepdims=True)
    return result


def entropy_bits(p: np.ndarray) -> np.ndarray:
    """In bits, over the last axis; 0 log 0 is 0."""
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    result: np.ndarray = np.abs((p * logs).sum(-1))
    return result


def mean_label_distance(table: np.ndarray) -> tuple[float | None, int]:
    """Over all pairs of up to 200 clients; over as many fixed random pairs of more."""
    if len(table) < 2:
        return None, 0
    first, second = client_pairs(len(table))
    p = class_shares(table)
    own = entropy_bits(p)
    divergence = entropy_bits((p[first] + p[second]) / 2) - (own[first] + own[second]) / 2
    return round(float(np.sqrt(np.clip(divergence, 0, 1)).mean()), 4), len(first)


def client_pairs(count: int) -> tuple[np.ndarray, np.ndarray]:
    if count <= MOST_CLIENTS_ALL_PAIRS:
        first, second = np.triu_indices(count, 1)
        return first, second
    rng = np.random.default_rng(0)
    first = rng.integers(count, size=SAMPLED_PAIRS)
    return first, (first + rng.integers(1, count, size=SAMPLED_PAIRS)) % count


def row_indices(count: int) -> list[int]:
    return [int(row) for row in np.unique(np.linspace(0, count - 1, min(count, MOST_ROWS)).astype(int))]


def distribution_warnings(assignment: SampleAssignment, table: np.ndarray, pool: int | None) -> list[str]:
    texts = [IID_WARNING] if is_spread_evenly(table) else []
    hybrid = assignment.spec.hybrid
    if hybrid.ratio and pool is None:
        texts.append(f"Hybrid ratio {hybrid.ratio:g} rounds down to nothing: no data is shared.")
    if (absent := len(assignment.parts) - sum(not client.shared for client in assignment.clients)) and pool is None:
        texts.append(f"{absent} of {len(assignment.parts)} clients hold nothing and take no part.")
    return texts


def is_spread_evenly(table: np.ndarray) -> bool:
    """Whether clients differ in their labels hardly more than chance makes equal ones differ.

    Pearson's statistic of the table over its degrees of freedom is about 1 where labels are dealt at random, less where
    they are dealt out evenly, and grows with any real skew.
    """
    present = table[:, table.any(0)]
    freedom = (present.shape[0] - 1) * (present.shape[1] - 1)
    if freedom < 1:
        return False
    expected = np.outer(present.sum(1), present.sum(0)) / present.sum()
    statistic = float(((present - expected) ** 2 / expected).sum())
    return bool(statistic / freedom <= LARGEST_EVEN_STATISTIC)
