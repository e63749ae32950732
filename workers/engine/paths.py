"""The two ways to compute a cohort in process: stacked in chunks, or one client at a time on several threads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import local

import torch

from workers.engine.federation import ClientData
from workers.engine.network import single_gradients, stacked_gradients
from workers.engine.trainer import Assignment, Outcome, Trainer

MEMORY = 2**30
"""Bytes that one stack may take, roughly."""


class Path(ABC):
    """Trains the clients of an assignment; together the outcomes cover each client once."""

    name: str

    @abstractmethod
    def train(self, assignment: Assignment) -> list[Outcome]: ...

    @abstractmethod
    def close(self) -> None:
        """Ends its threads."""


class CohortPath(Path):
    name = "cohort"

    def __init__(self, trainer: Trainer, chunk: int) -> None:
        padded = not trainer.network.has_batch_statistics
        self.trainer = replace(trainer, gradients=stacked_gradients, padded=padded)
        self.chunk = chunk

    def train(self, assignment: Assignment) -> list[Outcome]:
        clients, outcomes = by_work(assignment.clients), []
        while clients:
            now, later = clients[: self.chunk], clients[self.chunk :]
            try:
                outcomes.append(self.trainer.train(replace(assignment, clients=now)))
            except (torch.OutOfMemoryError, MemoryError):
                if len(now) == 1:
                    raise
                self.chunk = max(1, len(now) // 2)
                continue
            clients = later
        return outcomes

    def close(self) -> None:
        """It has no threads of its own."""


def by_work(clients: Sequence[ClientData]) -> list[ClientData]:
    """Neighbours have about the same amount of data, so that a chunk wastes little."""
    return sorted(clients, key=lambda client: -len(client.train))


class SequentialPath(Path):
    """The reference. Every thread has its own copy of the module and one torch thread; results keep their order."""

    name = "sequential"

    def __init__(self, trainer: Trainer, threads: int) -> None:
        padded = not trainer.network.has_batch_statistics
        self.trainer = replace(trainer, gradients=single_gradients, padded=padded)
        self.pool = ThreadPoolExecutor(threads, "client", initializer=self.prepare)
        self.own = local()

    def prepare(self) -> None:
        torch.set_num_threads(1)
        self.own.trainer = replace(self.trainer, network=self.trainer.network.twin())

    def train(self, assignment: Assignment) -> list[Outcome]:
        return list(self.pool.map(lambda client: self.train_one(assignment, client), assignment.clients))

    def train_one(self, assignment: Assignment, client: ClientData) -> Outcome:
        trainer: Trainer = self.own.trainer
        return trainer.train(replace(assignment, clients=[client]))

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


def threads_given() -> int:
    return int(os.environ.get("TRIBUTARY_THREADS") or torch.get_num_threads())


def chunk_size(trainer: Trainer) -> int:
    values = sum(param.numel() for param in trainer.network.module.parameters())
    per_client = values * trainer.samples.x.element_size() * (4 + 2 * len(trainer.optimizer.slots))
    return max(1, MEMORY // max(1, per_client))
