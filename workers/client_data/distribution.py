"""The numbers of a federation: who holds how many samples of which class, and how far apart clients are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from workers.catalog.component import ClientSource
from workers.client_data.assignment import SampleAssignment
from workers.client_data.pictures import pictured_clients
from workers.spec import RunSpec

MOST_ROWS = 300
"""Clients whose classes are kept one by one; of more, so many at even distances."""
MOST_LISTED = 100_000
"""Clients whose sizes are kept one by one; of more, those whose classes are."""
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
    """Of every client that takes part, the shared one too; of more than 100,000 only of `clients`, as what follows."""
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
    total: int = 0
    """Clients that take part, where they are not all listed."""

    @property
    def client_count(self) -> int:
        return self.total or len(self.sizes)

    @property
    def most_entropy(self) -> float:
        return math.log2(len(self.classes))


def distribution_info(assignment: SampleAssignment) -> ClientDistribution:
    clients, facts = assignment.clients, assignment.spec.dataset_facts
    table = class_counts(assignment, facts.classes)
    pool = None if clients.shared_row is None else int(clients.totals[clients.shared_row])
    distribution = table_distribution(assignment.spec, table, clients.numbers)
    return replace(
        distribution,
        shared=pool,
        pictured=tuple(client.index for client in pictured_clients(clients)) if facts.is_image else (),
        warnings=tuple(distribution_warnings(assignment, table, pool)),
    )


def distribution_on_demand(spec: RunSpec, source: ClientSource) -> ClientDistribution:
    """Of clients that are too many to be made for this: some of them, as if they were all; numbers of samples are."""
    classes, sizes = spec.dataset_facts.classes, source.train_sizes[: spec.client_count]
    numbers = np.array(row_indices(len(sizes)))
    labels = [source.train_samples(client)[1] for client in numbers.tolist()]
    table = np.stack([np.bincount(each, minlength=classes) for each in labels])
    distribution = table_distribution(spec, table, numbers)
    warnings = (IID_WARNING,) if is_spread_evenly(table) else ()
    return replace(distribution, samples=int(sizes.sum()), total=len(sizes), warnings=warnings)


def table_distribution(spec: RunSpec, table: np.ndarray, numbers: np.ndarray) -> ClientDistribution:
    """`table` has the clients of these numbers and their samples of each class."""
    facts = spec.dataset_facts
    names = facts.class_names or tuple(map(str, range(facts.classes)))
    distance, pairs = mean_label_distance(table)
    rows = row_indices(len(table))
    entropies = entropy_bits(class_shares(table))
    listed = rows if len(table) > MOST_LISTED else slice(None)
    return ClientDistribution(
        dataset=spec.dataset.name,
        samples=int(table.sum()),
        classes=names[: facts.classes],
        sizes=tuple(table.sum(1)[listed].tolist()),
        held=tuple((table > 0).sum(1)[listed].tolist()),
        entropies=tuple(round(each, 4) for each in entropies[listed].tolist()),
        mean_entropy=round(float(entropies.mean()), 4),
        distance=distance,
        pairs=pairs,
        clients=tuple(numbers[rows].tolist()),
        counts=tuple(tuple(table[row].tolist()) for row in rows),
        shared=None,
        pictured=(),
        warnings=(),
        total=len(table) if len(table) > MOST_LISTED else 0,
    )


def class_counts(assignment: SampleAssignment, classes: int) -> np.ndarray:
    """Clients x classes, in one pass over the labels."""
    labels = np.asarray(assignment.arrays.train_y)
    sizes = assignment.clients.totals
    owner = np.repeat(np.arange(len(sizes)), sizes)
    client_labels = labels[assignment.clients.samples]
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
    if (absent := len(assignment.parts) - len(assignment.clients.own_numbers)) and pool is None:
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
