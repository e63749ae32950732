"""The clients of a federation as arrays: a client is made when it is asked for, so that a million cost no objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

import numpy as np

from workers.partitions._cuts import Parts
from workers.streams import WHOLE_FEDERATION, stream

SHARED_CLIENT = -1
SHARED_STREAM = WHOLE_FEDERATION - 1
NO_SAMPLES = np.empty(0, dtype=np.int64)
MOST_NUMBERS = 2**23
"""Of the clients that were made, so many indices are remembered (64 MB): those of a small federation all stay. An
eighth of it where samples are made on demand: there are so many clients that hardly one comes again."""
NUMBERS_OF_AN_OBJECT = 64
"""What a remembered client takes besides its indices, as that many of them."""

Value = TypeVar("Value", covariant=True)


@dataclass(frozen=True)
class ClientData:
    """A client as index vectors into the federation's `x` and `y`. The shared client of hybrid sharing is -1.

    Where a federation makes its samples on demand, the vectors count the client's own samples.
    `task` names the model it trains, where it got several.
    """

    index: int
    train: np.ndarray
    validation: np.ndarray
    held_out: np.ndarray
    shared: bool = False
    task: str | None = None

    @property
    def key(self) -> int:
        """What names this client in `workers.streams.stream(client=...)`."""
        return SHARED_STREAM if self.shared else self.index


class Clients(Sequence[ClientData]):
    """Each client's number, samples (in the order of the partition) and the sizes of its parts.

    `parts` may be None: then client i has the samples 0 to totals[i] of its own. Numbers ascend, apart from the shared
    client's, who is the first or the last.
    """

    def __init__(
        self,
        numbers: np.ndarray,
        parts: Sequence[np.ndarray] | None,
        *,
        totals: np.ndarray | None = None,
        validation: np.ndarray | None = None,
        held_out: np.ndarray | None = None,
        seed: int = 0,
    ) -> None:
        self.numbers, self.seed = numbers, seed
        self.parts = None if parts is None else Parts.of(parts)
        self.most_numbers = MOST_NUMBERS // (8 if parts is None else 1)
        self.totals: np.ndarray = self.parts.sizes if self.parts is not None else np.asarray(totals)
        none = np.zeros(len(numbers), dtype=np.int32)
        self.validation_sizes = none if validation is None else validation
        self.held_out_sizes = none if held_out is None else held_out
        shared = np.flatnonzero(numbers == SHARED_CLIENT)
        self.shared_row = int(shared[0]) if len(shared) else None
        self.own = slice(1, None) if self.shared_row == 0 else slice(0, self.shared_row)
        self.remembered: dict[int, ClientData] = {}
        self.remembered_numbers = 0
        for array in self.arrays:
            array.flags.writeable = False

    @property
    def arrays(self) -> list[np.ndarray]:
        cuts = [] if self.parts is None else [self.parts.samples, self.parts.bounds]
        return [self.numbers, self.totals, self.validation_sizes, self.held_out_sizes, *cuts]

    @property
    def bytes(self) -> int:
        """With those that it may remember."""
        remembered = min(self.most_numbers, int(self.totals.sum()) + NUMBERS_OF_AN_OBJECT * len(self))
        return sum(array.nbytes for array in self.arrays) + 8 * remembered

    @property
    def sizes(self) -> np.ndarray:
        """Training samples of each."""
        sizes: np.ndarray = self.totals - self.validation_sizes - self.held_out_sizes
        return sizes

    @property
    def samples(self) -> np.ndarray:
        """Of all clients, one client after the other."""
        assert self.parts is not None, "samples on demand have no places in one array"
        return self.parts.samples

    @property
    def own_numbers(self) -> np.ndarray:
        """Without the shared client."""
        return self.numbers[self.own]

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> ClientData: ...

    @overload
    def __getitem__(self, at: slice) -> list[ClientData]: ...

    def __getitem__(self, at: int | slice) -> ClientData | list[ClientData]:
        if isinstance(at, slice):
            return [self[row] for row in range(*at.indices(len(self)))]
        row = range(len(self))[at]
        client = self.remembered.get(row)
        if client is None:
            client = self.make(row)
            self.remember(row, client)
        return client

    def make(self, row: int) -> ClientData:
        """Split as the evaluation needs it: held-out part, validation part, training part of one permutation."""
        samples = np.arange(self.totals[row]) if self.parts is None else self.parts[row]
        number, held_out = int(self.numbers[row]), int(self.held_out_sizes[row])
        rest = held_out + int(self.validation_sizes[row])
        client = ClientData(number, samples, NO_SAMPLES, NO_SAMPLES, shared=number == SHARED_CLIENT)
        if not rest:
            return client
        order = stream(self.seed, "split", client=client.key).permutation(samples)
        return ClientData(number, order[rest:], order[held_out:rest], order[:held_out], client.shared)

    def remember(self, row: int, client: ClientData) -> None:
        cost = int(self.totals[row]) + NUMBERS_OF_AN_OBJECT
        if self.remembered_numbers + cost > self.most_numbers:
            self.remembered, self.remembered_numbers = {}, 0
        self.remembered[row] = client
        self.remembered_numbers += cost

    def row(self, number: int) -> int:
        if number == SHARED_CLIENT and self.shared_row is not None:
            return self.shared_row
        own = self.own_numbers
        place = int(np.searchsorted(own, number))
        if place == len(own) or own[place] != number:
            raise KeyError(number)
        return place + (self.own.start or 0)

    def by_number(self) -> ClientMapping[ClientData]:
        return ClientMapping(self, self.__getitem__)


class ClientMapping(Mapping[int, Value], Generic[Value]):
    """Something of every client by its number, made of its row when it is asked for; `among`: rows that have it."""

    def __init__(self, clients: Clients, make: Callable[[int], Value], among: np.ndarray | None = None) -> None:
        self.clients, self.make, self.among = clients, make, among

    def __getitem__(self, number: int) -> Value:
        row = self.clients.row(number)
        if self.among is not None and not self.among[row]:
            raise KeyError(number)
        return self.make(row)

    def __iter__(self) -> Iterator[int]:
        numbers = self.clients.numbers
        return map(int, numbers if self.among is None else numbers[self.among])

    def __len__(self) -> int:
        return len(self.clients) if self.among is None else int(np.count_nonzero(self.among))
