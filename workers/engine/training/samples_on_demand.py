"""Samples of a federation that is too large to be made whole: those of one cohort at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import torch

from workers.engine.clients import NO_SAMPLES, ClientData
from workers.engine.execution.threads import stream_count
from workers.engine.federation import Federation
from workers.engine.training.trainer import Samples


class SamplesOnDemand(Samples):
    """`x` and `y` have the samples of the clients that were asked for last, and nothing of the others."""

    def __init__(self, federation: Federation, device: torch.device, dtype: torch.dtype) -> None:
        assert federation.make_samples is not None
        self.make_samples, self.totals = federation.make_samples, federation.clients.totals
        self.shape, self.device, self.dtype = federation.x.shape[1:], device, dtype
        self.clients, self.starts = NO_SAMPLES, NO_SAMPLES
        self.put(np.zeros((1, *self.shape), np.float32), np.zeros(1, np.int64))

    @property
    def x(self) -> torch.Tensor:
        return self.present[0]

    @property
    def y(self) -> torch.Tensor:
        return self.present[1]

    def hold(self, clients: Sequence[ClientData]) -> list[ClientData]:
        wanted = np.unique(np.array([client.index for client in clients], dtype=np.int64))
        if not np.isin(wanted, self.clients).all():
            self.make(wanted)
        starts = self.starts[np.searchsorted(self.clients, [client.index for client in clients])]
        return [at_place(client, start) for client, start in zip(clients, starts.tolist(), strict=True)]

    def make(self, clients: np.ndarray) -> None:
        """What goes is given up before the new is made, so that one cohort lies in memory and not two."""
        sizes = self.totals[clients]
        starts = np.cumsum(sizes) - sizes
        self.put(np.zeros((1, *self.shape), np.float32), np.zeros(1, np.int64))
        x, y = np.empty((int(sizes.sum()), *self.shape), np.float32), np.empty(int(sizes.sum()), np.int64)

        def fill(client: int, start: int, size: int) -> None:
            x[start : start + size], y[start : start + size] = self.make_samples(client)

        with ThreadPoolExecutor(stream_count(self.device), "samples") as pool:
            for _ in pool.map(fill, clients.tolist(), starts.tolist(), sizes.tolist()):
                pass
        self.put(x, y)
        self.clients, self.starts = clients, starts

    def put(self, x: np.ndarray, y: np.ndarray) -> None:
        self.present = torch.from_numpy(x).to(self.device, self.dtype), torch.from_numpy(y).to(self.device)


def at_place(client: ClientData, start: int) -> ClientData:
    return replace(
        client, train=client.train + start, validation=client.validation + start, held_out=client.held_out + start
    )
