"""Partitions whose clients hold unequal shares of the classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from workers.catalog.component import Parameters, Partition, PartitionInput
from workers.errors import FederationError, Problem
from workers.partitions._cuts import counts_by_share, equal_counts, indices_by_client, min_size_problems

if TYPE_CHECKING:
    from workers.spec import RunSpec


MOST_DRAWS = 200


class LabelDirichletParameters(Parameters):
    alpha: float = Field(0.5, gt=0)
    """Concentration: small gives every client few classes, large approaches IID."""
    balanced: bool = True
    """A client that already holds its equal share of samples gets nothing of the next classes (NIID-Bench)."""
    min_size: int = Field(10, ge=0)
    """Redraw until every client has so many samples."""


class LabelDirichlet(Partition):
    """Label skew: of every class, clients get shares drawn from Dirichlet(alpha).

    `balanced` is NIID-Bench's rule: before a class is dealt, the share of a client that holds at least n / clients
    samples is set to zero and the others are rescaled. The draw is repeated, at most 200 times, until the smallest
    client has `min_size` samples.
    """

    name = "label-dirichlet"
    label = "Label skew (Dirichlet)"
    short = "Dirichlet"
    named_by = ("alpha",)
    paper = "Li et al.: Federated Learning on Non-IID Data Silos: An Experimental Study, ICDE 2022"
    Params = LabelDirichletParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        return min_size_problems(spec)

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        by_class = [np.flatnonzero(data.labels == each) for each in range(data.classes)]
        for _ in range(MOST_DRAWS):
            owner = deal_samples(data, by_class, params.alpha, params.balanced)
            if np.bincount(owner, minlength=data.clients).min() >= params.min_size:
                return indices_by_client(owner, data.clients)
        raise FederationError(
            f"No label-dirichlet partition of {len(data.labels)} samples with at least {params.min_size} for each of "
            f"{data.clients} clients in {MOST_DRAWS} draws: lower min_size, raise alpha or take fewer clients."
        )


def deal_samples(data: PartitionInput, by_class: Sequence[np.ndarray], alpha: float, balanced: bool) -> np.ndarray:
    """The client of every sample, class after class."""
    owner = np.empty(len(data.labels), dtype=np.int64)
    held = np.zeros(data.clients, dtype=np.int64)
    for members in by_class:
        shares = data.rng.dirichlet(np.full(data.clients, alpha))
        if balanced:
            shares = limit_shares(shares, held < len(data.labels) / data.clients)
        counts = counts_by_share(shares, len(members))
        owner[data.rng.permutation(members)] = np.repeat(np.arange(data.clients), counts)
        held += counts
    return owner


def limit_shares(shares: np.ndarray, open_to: np.ndarray) -> np.ndarray:
    """Shares of the clients that may still take, rescaled; equal ones where the draw left them nothing."""
    limited: np.ndarray = shares * open_to
    if limited.sum() <= 0:
        limited = open_to.astype(float) if open_to.any() else np.ones_like(shares)
    limited /= limited.sum()
    return limited


class ClassesPerClientParameters(Parameters):
    k: int = Field(2, ge=1)
    """Classes each client holds."""
    assign: Literal["grouped", "random"] = "grouped"
    """grouped: neighbouring clients hold the same classes. random: as in NIID-Bench."""


class ClassesPerClient(Partition):
    """Label skew: every client holds k classes; a class's samples are shared equally by the clients that hold it.

    `grouped` cuts the clients into ceil(classes / k) groups, one for each run of k classes, so that 100 clients with 2
    of 10 classes are ATHENA-FL's five groups of 20; where k does not divide the classes, the last group holds the last
    k. `random` gives client i class i mod classes and others at random, and leaves no class without a client.
    """

    name = "classes-per-client"
    label = "Classes per client"
    named_by = ("k",)
    paper = "Li et al.: Federated Learning on Non-IID Data Silos: An Experimental Study, ICDE 2022"
    Params = ClassesPerClientParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        params, classes, clients = spec.partition, spec.dataset_facts.classes, spec.client_count
        if isinstance(params, ClassesPerClientParameters):
            if params.k > classes:
                yield Problem("partition.k", f"{params.k} classes per client, but there are only {classes}.")
            elif clients < (groups := math.ceil(classes / params.k)):
                reason = f"{clients} clients of {params.k} classes cannot hold all {classes}: take {groups} or more"
                yield Problem("clients", f"{reason}, or a larger k.")

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        holds = grouped_classes(data, params.k) if params.assign == "grouped" else random_classes(data, params.k)
        owner = np.empty(len(data.labels), dtype=np.int64)
        for each in range(data.classes):
            members = data.rng.permutation(np.flatnonzero(data.labels == each))
            holders = np.flatnonzero(holds[:, each])
            owner[members] = np.repeat(holders, equal_counts(len(members), len(holders)))
        if not np.bincount(owner, minlength=data.clients).all():
            raise FederationError("Some clients would hold no samples: take fewer clients or a larger k.")
        return indices_by_client(owner, data.clients)


def grouped_classes(data: PartitionInput, k: int) -> np.ndarray:
    """clients x classes, true where the client holds the class."""
    groups = math.ceil(data.classes / k)
    group = np.repeat(np.arange(groups), equal_counts(data.clients, groups))
    first = np.minimum(group * k, data.classes - k)[:, None]
    number = np.arange(data.classes)
    return (first <= number) & (number < first + k)


def random_classes(data: PartitionInput, k: int) -> np.ndarray:
    holds = np.zeros((data.clients, data.classes), dtype=bool)
    holds[np.arange(data.clients), np.arange(data.clients) % data.classes] = True
    uncovered = data.rng.permutation(np.flatnonzero(~holds.any(axis=0)))
    free_slots = data.rng.permutation(np.repeat(np.arange(data.clients), k - 1))
    holds[free_slots[: len(uncovered)], uncovered] = True
    for mine in holds:
        missing = k - int(mine.sum())
        mine[data.rng.permutation(np.flatnonzero(~mine))[:missing]] = True
    return holds


class ShardsParameters(Parameters):
    per_client: int = Field(2, ge=1)
    """Shards each client is dealt."""


class Shards(Partition):
    """McMahan's sort-and-deal: sort by label, cut into clients x per_client equal shards, deal them at random.

    A shard holds one class, or two where it crosses a border; within a class the order is random.
    """

    name = "shards"
    label = "Shards"
    named_by = ("per_client",)
    paper = "McMahan et al.: Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017"
    Params = ShardsParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        shards, samples = getattr(spec.partition, "per_client", 1) * spec.client_count, spec.dataset_facts.train
        if shards > samples:
            yield Problem("partition.per_client", f"{shards} shards, but only {samples} training samples.")

    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]:
        shuffled = data.rng.permutation(len(data.labels))
        by_label = shuffled[np.argsort(data.labels[shuffled], kind="stable")]
        shard_owner = data.rng.permutation(np.repeat(np.arange(data.clients), params.per_client))
        owner = np.empty(len(by_label), dtype=np.int64)
        owner[by_label] = np.repeat(shard_owner, equal_counts(len(by_label), len(shard_owner)))
        return indices_by_client(owner, data.clients)
