"""The ways to compute a cohort, by the names that specs have for them; in process: stacks of clients, or one at a time.

`engine: auto` tries a few local steps each way on the run's own data, without side effects, and takes the faster one.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from threading import local
from time import perf_counter

import torch

from workers.catalog import load_catalog
from workers.engine.execution.memory import is_heavy, keep_freed_memory, largest_stack
from workers.engine.federation import ClientData
from workers.engine.setup import Setup
from workers.engine.training.network import single_gradients, stacked_gradients
from workers.engine.training.rule import ClientStore, LocalRule
from workers.engine.training.trainer import Assignment, Outcome, Trainer
from workers.errors import TributaryError

TRIAL_STEPS = 3
TRIAL_SECONDS = 3.0
"""About how long the stacked trial may take; a slow model is tried with fewer clients."""


class ExecutorError(TributaryError):
    """What computes the clients has failed as a whole: no fault of one of them."""


class Executor(ABC):
    """Trains the clients of an assignment; together the outcomes cover each client once."""

    name: str

    @abstractmethod
    def train(self, assignment: Assignment) -> list[Outcome]: ...

    @abstractmethod
    def close(self) -> None:
        """Ends its threads and processes."""


class ThreadedExecutor(Executor):
    """Works through groups of clients on threads; every thread has a copy of the module and one torch thread."""

    def __init__(self, trainer: Trainer, threads: int) -> None:
        keep_freed_memory()
        self.trainer, self.threads, self.thread_local = trainer, threads, local()
        self.pool = ThreadPoolExecutor(threads, "client", initializer=self.prepare_thread)

    def prepare_thread(self) -> None:
        torch.set_num_threads(1)
        self.thread_local.trainer = replace(self.trainer, network=self.trainer.network.copy())

    def train(self, assignment: Assignment) -> list[Outcome]:
        parts = [replace(assignment, clients=group) for group in self.groups(assignment.clients)]
        futures = [self.pool.submit(self.train_group, part) for part in parts]
        try:
            return [outcome for future in futures for outcome in future.result()]
        except BaseException:
            # What still runs would write down what its clients keep, after the round was taken back.
            wait([future for future in futures if not future.cancel()])
            raise

    @abstractmethod
    def groups(self, clients: Sequence[ClientData]) -> list[list[ClientData]]: ...

    def train_group(self, assignment: Assignment) -> list[Outcome]:
        trainer: Trainer = self.thread_local.trainer
        return [trainer.train(assignment)]

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


class SequentialExecutor(ThreadedExecutor):
    """The reference: one client at a time, computed as plain PyTorch would."""

    name = "sequential"

    def __init__(self, trainer: Trainer, threads: int) -> None:
        super().__init__(replace(trainer, gradients=single_gradients), threads)

    def groups(self, clients: Sequence[ClientData]) -> list[list[ClientData]]:
        return [[client] for client in clients]


class CohortExecutor(ThreadedExecutor):
    """Stacks of clients. A stack that does not fit into memory is halved, and so are those that follow."""

    name = "cohort"

    def __init__(self, trainer: Trainer, threads: int) -> None:
        super().__init__(replace(trainer, gradients=stacked_gradients), threads)
        self.most_clients = largest_stack(trainer)
        self.on_cpu = trainer.samples.x.device.type == "cpu"

    def groups(self, clients: Sequence[ClientData]) -> list[list[ClientData]]:
        """Neighbours in size, so that a stack wastes little; as many stacks as threads where the work is worth it."""
        by_size = sorted(clients, key=lambda client: -len(client.train))
        streams = self.threads if self.on_cpu and is_heavy(self.trainer, len(clients)) else 1
        share = sum(len(client.train) for client in clients) / streams
        groups: list[list[ClientData]] = [[]]
        filled = 0
        for client in by_size:
            if len(groups[-1]) >= self.most_clients or filled >= share:
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
        self.most_clients = min(self.most_clients, half)
        parts = (assignment.clients[:half], assignment.clients[half:])
        return [outcome for part in parts for outcome in self.train_group(replace(assignment, clients=part))]


def thread_count() -> int:
    """TRIBUTARY_THREADS, or as many as torch uses."""
    return int(os.environ.get("TRIBUTARY_THREADS") or torch.get_num_threads())


def make_executor(setup: Setup, engine: str) -> Executor:
    """The executor of that name; `auto` measures."""
    name = faster_engine(setup) if engine == "auto" else engine
    return EXECUTORS[name](setup.trainer)


def make_cohort_executor(trainer: Trainer) -> Executor:
    return CohortExecutor(trainer, thread_count())


def make_sequential_executor(trainer: Trainer) -> Executor:
    return SequentialExecutor(trainer, thread_count())


def make_ray_executor(trainer: Trainer) -> Executor:
    from workers.engine.execution.ray_executor import RayExecutor

    return RayExecutor(trainer)


EXECUTORS: dict[str, Callable[[Trainer], Executor]] = {
    "cohort": make_cohort_executor,
    "sequential": make_sequential_executor,
    "ray": make_ray_executor,
}


def faster_engine(setup: Setup) -> str:
    clients = [setup.participation.clients[index] for index in setup.participation.cohort(1)]
    alone = seconds_per_step(setup, make_sequential_executor, clients[: 2 * thread_count()])
    count = max(2, int(TRIAL_SECONDS / (alone * TRIAL_STEPS)))
    stacked = seconds_per_step(setup, make_cohort_executor, clients[:count])
    return "cohort" if stacked <= alone else "sequential"


def seconds_per_step(setup: Setup, make: Callable[[Trainer], Executor], clients: Sequence[ClientData]) -> float:
    """Wall seconds per client and local step. Trains copies with a plain rule and a store that is thrown away."""
    classes = load_catalog().strategies[setup.spec.strategy.name].model_classes(setup.spec)
    samples = replace(setup.trainer.samples, y=setup.trainer.samples.y.clamp(max=classes - 1))
    trial = replace(setup.trainer, samples=samples, store=ClientStore(), rule=LocalRule(), most_steps=TRIAL_STEPS)
    executor = make(trial)
    try:
        executor.train(Assignment(1, clients, setup.initial))
        started = perf_counter()
        outcomes = executor.train(Assignment(1, clients, setup.initial))
        seconds = perf_counter() - started
    finally:
        executor.close()
    return seconds / max(1, sum(min(steps, TRIAL_STEPS) for outcome in outcomes for steps in outcome.steps))
