"""Who takes part in a round, who fails to answer and who does only a part: pure functions of spec and round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from workers.engine.clients import SHARED_CLIENT, SHARED_STREAM, ClientData
from workers.engine.federation import Federation
from workers.engine.server.method import Method
from workers.spec import RunSpec
from workers.streams import client_keys, keyed_uniforms, stream

FAILURE, PART = 0, 1
"""Which draw of a client's `faults` stream decides what."""


class Participation:
    """Draws cohorts from the run's own streams; the shared client of hybrid sharing is always there and never fails."""

    def __init__(self, spec: RunSpec, federation: Federation, method: Method) -> None:
        self.spec, self.method = spec, method
        self.clients: Mapping[int, ClientData] = federation.clients.by_number()
        self.candidates = federation.clients.own_numbers
        self.shared = [SHARED_CLIENT] if federation.clients.shared_row is not None else []
        self.selected: tuple[int, list[int]] | None = None
        if method.pooled:
            self.clients, self.candidates, self.shared = {0: pooled_client(federation)}, np.zeros(1, np.int64), []

    def cohort(self, number: int) -> list[int]:
        """Client indices in order; the shared client (-1) comes first. A selector's choice for the round, or a draw."""
        if self.selected is not None and self.selected[0] == number:
            return [*self.shared, *self.selected[1]]
        rng = stream(self.spec.seed, "sampling", round=self.method.cohort_round(number))
        members = [sample_group(group, self.cohort_share, rng) for group in self.groups(number)]
        return [*self.shared, *np.sort(np.concatenate(members)).tolist()]

    @property
    def cohort_share(self) -> float:
        candidates = len(self.candidates)
        return self.spec.cohort_among(candidates) / max(1, candidates)

    def groups(self, number: int) -> list[np.ndarray]:
        """Those to draw from: everybody, unless the method has groups."""
        groups = self.method.groups(number) if self.method.groups is not None else []
        present = [np.intersect1d(self.candidates, np.array(group, dtype=np.int64)) for group in groups]
        return present or [self.candidates]

    def failing_clients(self, number: int, clients: Sequence[int]) -> set[int]:
        if not self.spec.client_dropout:
            return set()
        draws = self.uniforms(number, clients, FAILURE)
        return {
            client
            for client, draw in zip(clients, draws, strict=True)
            if draw < self.spec.client_dropout and client != SHARED_CLIENT
        }

    def straggler_parts(self, number: int) -> dict[int, float]:
        """The stragglers of the round, each with the number in [0, 1) that decides how far it gets."""
        if not self.spec.stragglers:
            return {}
        candidates = [client for client in self.cohort(number) if client != SHARED_CLIENT]
        count = int(self.spec.stragglers * len(candidates) + 0.5)
        if not count:
            return {}
        stragglers = stream(self.spec.seed, "faults", round=number).permutation(candidates)[:count]
        return dict(zip(stragglers.tolist(), self.uniforms(number, stragglers, PART).tolist(), strict=True))

    def uniforms(self, number: int, clients: Sequence[int] | np.ndarray, draw: int) -> np.ndarray:
        numbers = np.array(clients)
        owners = np.where(numbers == SHARED_CLIENT, SHARED_STREAM, numbers)
        return keyed_uniforms(client_keys(self.spec.seed, "faults", owners, number), np.array([draw]))


def sample_group(group: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """That share of a group, rounded down, but one at least."""
    size = min(len(group), max(1, int(share * len(group) + 1e-9)))
    return group if size == len(group) else rng.choice(group, size, replace=False)


def pooled_client(federation: Federation) -> ClientData:
    """Everything that the clients train on, in one client."""
    everything = np.concatenate([client.train for client in federation.clients])
    return replace(federation.clients[0], index=0, train=np.sort(everything), shared=False)
