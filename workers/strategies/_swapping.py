"""Clients that swap whole models between averages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from flwr.app import RecordDict

from workers.engine.messages.arrays import Tensors, array_bytes, tensor_of
from workers.engine.messages.message_keys import ARRAYS, OBSERVED
from workers.engine.server.averaging import array_record, weights_of
from workers.engine.server.method import MethodContext
from workers.engine.training.rule import ClientStore, LocalWork
from workers.strategies._exchange_rounds import is_swap_round
from workers.strategies._fedavg import OwnModel, PeriodicAveraging
from workers.strategies._similarity import similarities
from workers.streams import stream


class SwappingServer(PeriodicAveraging):
    """Averages each h1 * h2 rounds, swaps models each h1 rounds between.

    What is evaluated is the mean of all models, each with the weight of the client that holds it after the swap.
    """

    model_record = OBSERVED

    def __init__(self, context: MethodContext, h1: int, h2: int, swap_share: float) -> None:
        super().__init__(context, h1 * h2)
        self.h1, self.h2, self.swap_share, self.seed = h1, h2, swap_share, context.spec.seed
        self.pairs: Pairs = []

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        self.pairs = []
        if is_swap_round(server_round, self.h1, self.h2):
            self.swap(server_round, replies)
            weights = self.swapped_weights(weights_of(replies))
            self.virtual, result = self.mean_with(replies, weights, self.model_record), None
        else:
            result = super().combine(server_round, replies)
        self.reported["fedswap.swaps"] = float(len(self.pairs))
        return result

    def swap(self, server_round: int, replies: Sequence[RecordDict]) -> None:
        rng = stream(self.seed, "strategy", round=server_round)
        self.pairs = self.choose_pairs(replies, pair_count(len(replies), self.swap_share), rng)
        model_bytes = sum(map(array_bytes, array_record(replies[0], self.model_record).values()))
        self.report_bytes(2 * len(self.pairs) * model_bytes)

    def swapped_weights(self, weights: Sequence[float]) -> list[float]:
        """What each client's model weighs once another holds it."""
        result = list(weights)
        for one, other in self.pairs:
            result[one], result[other] = weights[other], weights[one]
        return result

    def exchange(self, store: ClientStore, clients: Sequence[int]) -> None:
        super().exchange(store, clients)
        pairs, self.pairs = self.pairs, []  # a round that nobody answers chooses no new ones
        for one, other in pairs:
            first, second = clients[one], clients[other]
            store.kept[first], store.kept[second] = store.kept[second], store.kept[first]

    @abstractmethod
    def choose_pairs(self, replies: Sequence[RecordDict], count: int, rng: np.random.Generator) -> Pairs: ...

    @abstractmethod
    def report_bytes(self, count: int) -> None: ...


class FedSwapServer(SwappingServer):
    """Clients hand their models to each other."""

    def choose_pairs(self, replies: Sequence[RecordDict], count: int, rng: np.random.Generator) -> Pairs:
        return random_pairs(len(replies), count, rng)

    def report_bytes(self, count: int) -> None:
        self.reported["bytes_peer"] = float(count)


class SimFedSwapServer(SwappingServer):
    """All models go to the server, which compares them and sends those that are swapped back."""

    model_record = ARRAYS

    def __init__(
        self, context: MethodContext, h1: int, h2: int, swap_share: float, *, pairing: str, similarity: str
    ) -> None:
        super().__init__(context, h1, h2, swap_share)
        self.pairing, self.similarity = pairing, similarity

    def choose_pairs(self, replies: Sequence[RecordDict], count: int, rng: np.random.Generator) -> Pairs:
        if not count:
            return []
        records = [array_record(reply, ARRAYS) for reply in replies]
        names = [name for name in records[0] if name not in self.buffers and len(records[0][name].shape) > 1]
        stacks = {name: torch.stack([tensor_of(record[name]) for record in records]) for name in names}
        similarity = np.nan_to_num(similarities(stacks, self.sent, self.similarity).numpy(), nan=np.inf)
        return greedy_pairs(similarity, count, rng) if self.pairing == "greedy" else minimum_pairs(similarity, count)

    def report_bytes(self, count: int) -> None:
        self.reported["bytes_down"] = float(count)


class SwappableModel(OwnModel):
    """Keeps the model between averages, and where `through_server` sends it to be swapped."""

    def __init__(self, h1: int, h2: int, *, through_server: bool) -> None:
        super().__init__(h1 * h2)
        self.h1, self.h2, self.through_server = h1, h2, through_server

    def reply_name(self, work: LocalWork) -> str:
        if self.through_server and is_swap_round(work.round, self.h1, self.h2):
            return ARRAYS
        return super().reply_name(work)


Pairs = list[tuple[int, int]]


def pair_count(clients: int, share: float) -> int:
    return int(clients // 2 * share + 1e-9)


def random_pairs(clients: int, count: int, rng: np.random.Generator) -> Pairs:
    order = rng.permutation(clients).tolist()
    return [(order[2 * each], order[2 * each + 1]) for each in range(count)]


def greedy_pairs(similarity: np.ndarray, count: int, rng: np.random.Generator) -> Pairs:
    """A random client takes the least similar of those that are left."""
    free = rng.permutation(len(similarity)).tolist()
    pairs = []
    for _ in range(count):
        one = free.pop(0)
        other = min(free, key=lambda each: (similarity[one, each], each))
        free.remove(other)
        pairs.append((one, other))
    return pairs


def minimum_pairs(similarity: np.ndarray, count: int) -> Pairs:
    """The least similar pair of all, then the least similar of those that are left, and so on."""
    rows, columns = np.triu_indices(len(similarity), 1)
    paired: set[int] = set()
    pairs: Pairs = []
    for at in np.argsort(similarity[rows, columns], kind="stable").tolist():
        if len(pairs) == count:
            break
        one, other = int(rows[at]), int(columns[at])
        if one not in paired and other not in paired:
            paired |= {one, other}
            pairs.append((one, other))
    return pairs
