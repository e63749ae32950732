"""The ways to compute a cohort, by the names that specs have for them; in process: stacks of clients, or one at a time.

The last bits of a client's numbers depend on the stack it is computed in. So `engine: auto`, and which clients make a
stack, follow from the spec and the type of the device alone: threads only work through the stacks, and a stack that
does not fit into memory is never made smaller in silence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import local
from traceback import clear_frames

import torch

from workers.engine.clients import ClientData
from workers.engine.execution.memory import keep_freed_memory, largest_stack, stack_count
from workers.engine.execution.threads import stream_count
from workers.engine.setup import Setup
from workers.engine.training.network import example_input, is_convolutional, single_gradients, stacked_gradients
from workers.engine.training.trainer import Assignment, Outcome, Trainer
from workers.errors import Problem, SpecError, TributaryError

SMALL_ENOUGH = 16
"""Clients of a convolutional model whose activations fit into a CPU's cache together: from so many on stacks win."""
CANNOT_BE_STACKED = (
    "This model cannot be computed for a stack of clients at once: it has an LSTM, a GRU, dropout by function, "
    "attention with dropout, or another operation that vmap does not take. Choose engine: auto or sequential."
)


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
        clients = self.trainer.samples.hold(assignment.clients)
        parts = [replace(assignment, clients=group) for group in self.groups(clients)]
        futures = [self.pool.submit(self.train_group, part) for part in parts]
        try:
            return [outcome for at, part in enumerate(parts) for outcome in self.result_of(part, futures, at)]
        except BaseException:
            # What still runs would write down what its clients keep, after the round was taken back.
            wait([future for future in futures if not future.cancel()])
            raise

    def result_of(self, part: Assignment, futures: Sequence[Future[list[Outcome]]], at: int) -> list[Outcome]:
        """Where memory was short beside the other groups, the same group has another turn with all memory to itself."""
        try:
            return futures[at].result()
        except (torch.OutOfMemoryError, MemoryError) as error:
            clear_frames(error.__traceback__)  # which hold what the group had allocated
            wait(futures)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        try:
            return self.pool.submit(self.train_group, part).result()
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise ExecutorError(self.memory_refusal(part)) from error

    def memory_refusal(self, part: Assignment) -> str:
        return "A client does not fit into memory. Set a smaller local.batch_size or a smaller model."

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
    """Stacks of clients."""

    name = "cohort"

    def __init__(self, trainer: Trainer, threads: int) -> None:
        super().__init__(replace(trainer, gradients=stacked_gradients), threads)
        self.most_clients = 1 if trains_alone(trainer) else largest_stack(trainer)

    def groups(self, clients: Sequence[ClientData]) -> list[list[ClientData]]:
        """Neighbours in size, so that a stack wastes little; about equal numbers of samples."""
        by_size = sorted(clients, key=lambda client: -len(client.train))
        share = sum(len(client.train) for client in clients) / stack_count(self.trainer, len(clients))
        groups: list[list[ClientData]] = [[]]
        filled = 0
        for client in by_size:
            if len(groups[-1]) >= self.most_clients or filled >= share:
                groups.append([])
                filled = 0
            groups[-1].append(client)
            filled += len(client.train)
        return groups

    def memory_refusal(self, part: Assignment) -> str:
        """In a smaller stack the same clients would end with other last bits than the spec gives elsewhere."""
        return (
            f"A stack of {len(part.clients)} clients does not fit into memory. "
            "Set engine: sequential, a smaller local.batch_size, or take a worker with more memory."
        )


def trains_alone(trainer: Trainer) -> bool:
    """A plain CNN: with steps that are written out its clients are faster one at a time than in any stack."""
    return trainer.network.convolutions is not None and trainer.written_out is not None


def make_executor(setup: Setup, engine: str) -> Executor:
    """The executor of that name, or of the one that `auto` stands for."""
    name = engine_for(setup) if engine == "auto" else engine
    if name == "cohort" and not can_be_stacked(setup):
        raise SpecError([Problem("engine", CANNOT_BE_STACKED)])
    return EXECUTORS[name](setup.trainer)


def can_be_stacked(setup: Setup) -> bool:
    return (
        setup.network.chain is not None
        or trains_alone(setup.trainer)
        or setup.network.can_be_stacked(example_input(setup.spec, setup.device))
    )


def engine_for(setup: Setup) -> str:
    """What `engine: auto` stands for: a rule from the spec and the type of the device, never from a clock.

    Seconds of `sequential` over those of `cohort`, on one thread of a CPU (10 clients unless said otherwise):

        plain MLP 4.7, one client 2.3                       chains of linear layers: always cohort
        MLP with dropout 2.6, batch norm 2.6                cohort
        MLP with layer norm: two clients 0.95, one 0.55     one client alone: sequential
        LeNet in batches of 10: 2.3 (85 in the cache)       convolutions: cohort where SMALL_ENOUGH
        LeNet in batches of 64: 0.8 (13)
        CNN 32-64-100 in batches of 20: 0.9 (6), CNN 32-64-64 of 64: 0.6 (1), ResNet-18 of 8: 0.5 (4)
        CNN 32-64-100 with steps written out, one at a time: batches of 2 1.4, of 8 1.2, of 60 1.1 (stack of 8: 1.0)

    On an accelerator a small step costs its launch and not its arithmetic: cohort, wherever clients are more than one.
    """
    if setup.network.chain is not None or trains_alone(setup.trainer):
        return "cohort"
    if setup.spec.cohort_size == 1 or not can_be_stacked(setup):
        return "sequential"
    if setup.device.type == "cpu" and is_convolutional(setup.network.module):
        return "cohort" if largest_stack(setup.trainer) >= SMALL_ENOUGH else "sequential"
    return "cohort"


def make_cohort_executor(trainer: Trainer) -> Executor:
    return CohortExecutor(trainer, stream_count(trainer.samples.x.device))


def make_sequential_executor(trainer: Trainer) -> Executor:
    return SequentialExecutor(trainer, stream_count(trainer.samples.x.device))


def make_ray_executor(trainer: Trainer) -> Executor:
    from workers.engine.execution.ray_executor import RayExecutor

    return RayExecutor(trainer)


EXECUTORS: dict[str, Callable[[Trainer], Executor]] = {
    "cohort": make_cohort_executor,
    "sequential": make_sequential_executor,
    "ray": make_ray_executor,
}
