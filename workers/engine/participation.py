"""Who takes part in a round, who fails to answer and who does only a part: pure functions of spec and round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workers.engine.federation import ClientData, Federation
from workers.engine.method import Method
from workers.spec import RunSpec
from workers.streams import client_keys, keyed_uniforms, stream

FAILURE, PART = 0, 1
"""Which draw of a client's `faults` stream decides what."""


class Participation:
    """Draws cohorts from the run's own streams; the shared client of hybrid sharing is always there and never fails."""

    def __init__(self, spec: RunSpec, federation: Federation, method: Method) -> None:
        self.spec, self.method = spec, method
        self.clients = {client.index: client for client in trained_clients(federation, method)}
        self.shared = [index for index, client in self.clients.items() if client.shared]
        self.drawn = np.array([index for index, client in self.clients.items() if not client.shared], dtype=np.int64)

    def cohort(self, number: int) -> list[int]:
        """Client indices in order; the shared client (-1) comes first."""
        size = min(self.spec.cohort_size, len(self.drawn))
        if size == len(self.drawn):
            return [*self.shared, *self.drawn.tolist()]
        rng = stream(self.spec.seed, "sampling", round=self.method.cohort_round(number))
        return [*self.shared, *np.sort(rng.choice(self.drawn, size, replace=False)).tolist()]

    def failing(self, number: int, clients: Sequence[int]) -> set[int]:
        if not self.spec.client_dropout:
            return set()
        draws = self.uniforms(number, clients, FAILURE)
        return {
            client
            for client, draw in zip(clients, draws, strict=True)
            if draw < self.spec.client_dropout and not self.clients[client].shared
        }

    def parts(self, number: int) -> dict[int, float]:
        """The stragglers of the round, each with the number in [0, 1) that decides how far it gets."""
        if not self.spec.stragglers:
            return {}
        able = [client for client in self.cohort(number) if not self.clients[client].shared]
        count = int(self.spec.stragglers * len(able) + 0.5)
        if not count:
            return {}
        chosen = stream(self.spec.seed, "faults", round=number).permutation(able)[:count]
        return dict(zip(chosen.tolist(), self.uniforms(number, chosen, PART).tolist(), strict=True))

    def uniforms(self, number: int, clients: Sequence[int] | np.ndarray, which: int) -> np.ndarray:
        keys = client_keys(self.spec.seed, "faults", np.array([self.clients[each].key for each in clients]), number)
        return keyed_uniforms(keys, np.array([which]))


def trained_clients(federation: Federation, method: Method) -> tuple[ClientData, ...]:
    if not method.pooled:
        return federation.clients
    everything = np.concatenate([client.train for client in federation.clients])
    return (replace(federation.clients[0], index=0, train=np.sort(everything), shared=False),)
