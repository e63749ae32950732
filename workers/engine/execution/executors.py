"""The two ways to compute a cohort in process: stacks of clients, or one client at a time; both on several threads."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from threading import local

import torch

from workers.engine.data.federation import ClientData
from workers.engine.execution.memory import is_heavy, keep_freed_memory, most_clients
from workers.engine.training.network import single_gradients, stacked_gradients
from workers.engine.training.trainer import Assignment, Outcome, Trainer


class Path(ABC):
    """Trains the clients of an assignment; together the outcomes cover each client once."""

    name: str

    @abstractmethod
    def train(self, assignment: Assignment) -> list[Outcome]: ...

    @abstractmethod
    def close(self) -> None:
        """Ends its threads."""


class ThreadedPath(Path):
    """Works through groups of clients on threads; every thread has a copy of the module and one torch thread."""

    def __init__(self, trainer: Trainer, threads: int) -> None:
        keep_freed_memory()
        self.trainer, self.threads, self.own = trainer, threads, local()
        self.pool = ThreadPoolExecutor(threads, "client", initializer=self.prepare)

    def prepare(self) -> None:
        torch.set_num_threads(1)
        self.own.trainer = replace(self.trainer, network=self.trainer.network.twin())

    def train(self, assignment: Assignment) -> list[Outcome]:
        parts = [replace(assignment, clients=group) for group in self.groups(assignment.clients)]
        work = [self.pool.submit(self.train_group, part) for part in parts]
        try:
            return [outcome for each in work for outcome in each.result()]
        except BaseException:
            # What still runs would write down what its clients keep, after the round was taken back.
            wait([each for each in work if not each.cancel()])
            raise

    @abstractmethod
    def groups(self, clients: Sequence[ClientData]) -> list[list[ClientData]]: ...

    def train_group(self, assignment: Assignment) -> list[Outcome]:
        trainer: Trainer = self.own.trainer
        return [trainer.train(assignment)]

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


class SequentialPath(ThreadedPath):
    """The reference: one client at a time, computed as plain PyTorch would."""

    name = "sequential"

    def __init__(self, trainer: Trainer, threads: int) -> None:
        super().__init__(replace(trainer, gradients=single_gradients), threads)

    def groups(self, clients: Sequence[ClientData]) -> list[list[ClientData]]:
        return [[client] for client in clients]


class CohortPath(ThreadedPath):
    """Stacks of clients. A stack that does not fit into memory is halved, and so are those that follow."""

    name = "cohort"

    def __init__(self, trainer: Trainer, threads: int) -> None:
        super().__init__(replace(trainer, gradients=stacked_gradients), threads)
        self.most = most_clients(trainer)
        self.on_cpu = trainer.samples.x.device.type == "cpu"

    def groups(self, clients: Sequence[ClientData]) -> list[list[ClientData]]:
        """Neighbours in size, so that a stack wastes little; as many stacks as threads where the work is worth it."""
        by_size = sorted(clients, key=lambda client: -len(client.train))
        streams = self.threads if self.on_cpu and is_heavy(self.trainer, len(clients)) else 1
        share = sum(len(client.train) for client in clients) / streams
        groups: list[list[ClientData]] = [[]]
        filled = 0
        for client in by_size:
            if len(groups[-1]) >= self.most or filled >= share:
                groups.append([])
                filled = 0
            groups[-1].append(client)
            filled += len(client.train)
        return groups

    def train_group(self, assignment: Assignment) -> list[Outcome]:
        try:
            return super().train_group(assignment)
        except (torch.OutOfMemoryError, MemoryError):
            half = len(assignment.clients) // 2
            if not half:
                raise
        self.most = min(self.most, half)
        parts = (assignment.clients[:half], assignment.clients[half:])
        return [outcome for part in parts for outcome in self.train_group(replace(assignment, clients=part))]


def threads_given() -> int:
    """TRIBUTARY_THREADS, or as many as torch uses."""
    return int(os.environ.get("TRIBUTARY_THREADS") or torch.get_num_threads())
