from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from workers.catalog.component import Parameters, Partition, PartitionInput
from workers.errors import FederationError, Problem
from workers.partitions._cuts import equal_counts, grouped

if TYPE_CHECKING:
    from workers.spec import RunSpec


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
    paper = "Li et al.: Federated Learning on Non-IID Data Silos: An Experimental Study, ICDE 2022"
    Params = ClassesPerClientParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        chosen, classes, clients = spec.partition, spec.dataset_facts.classes, spec.client_count
        if isinstance(chosen, ClassesPerClientParameters):
            if chosen.k > classes:
                yield Problem("partition.k", f"{chosen.k} classes per client, but there are only {classes}.")
            elif clients < (groups := math.ceil(classes / chosen.k)):
                reason = f"{clients} clients of {chosen.k} classes cannot hold all {classes}: take {groups} or more"
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
        return grouped(owner, data.clients)


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
