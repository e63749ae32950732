"""Sample pictures of clients, with the very noise that a run would give them."""

from __future__ import annotations

import numpy as np

from workers.engine.federation import ClientData, scaled
from workers.png import as_pixels, png, sprite
from workers.portraits.holdings import Holdings
from workers.streams import stream

ROWS, COLUMNS = 12, 10
"""Clients shown, and pictures of each."""


def shown_clients(clients: tuple[ClientData, ...]) -> list[ClientData]:
    """Of many clients, some at even distances, and the shared one always."""
    own = [client for client in clients if not client.shared]
    chosen = np.unique(np.linspace(0, len(own) - 1, min(len(own), ROWS)).astype(int)).tolist()
    return [own[place] for place in chosen] + [client for client in clients if client.shared]


def client_pictures(holdings: Holdings) -> bytes | None:
    """One row for each shown client; None where samples are not pictures."""
    if not holdings.spec.dataset_facts.is_image:
        return None
    place = places(holdings)
    shape = holdings.arrays.train_x.shape[1:]
    rows = []
    for client in shown_clients(holdings.clients):
        some = earliest(client.train, place)
        blank = np.ones((COLUMNS - len(some), *shape), np.float32)
        rows.append(np.concatenate([*(noisy_sample(holdings, index, *place[index]) for index in some), blank]))
    return png(sprite(as_pixels(np.concatenate(rows)), COLUMNS))


def places(holdings: Holdings) -> np.ndarray:
    """For each sample its client and its place there in the partition: noise is drawn in that order."""
    found = np.full((len(holdings.arrays.train_y), 2), -1, dtype=np.int64)
    for client, part in enumerate(holdings.parts):
        found[part, 0] = client
        found[part, 1] = np.arange(len(part))
    return found


def earliest(indices: np.ndarray, place: np.ndarray) -> list[int]:
    """Those whose noise is drawn first: a later one costs all draws before it."""
    order = np.lexsort((place[indices, 0], place[indices, 1]))
    return [int(index) for index in indices[order[:COLUMNS]]]


def noisy_sample(holdings: Holdings, index: int, client: int, position: int) -> np.ndarray:
    """A batch of one. The same draws as `workers.engine.federation.noisy` makes for the whole client."""
    spec = holdings.spec
    sample = scaled(holdings.arrays.train_x[index : index + 1]).copy()
    if spec.feature_noise:
        draws = stream(spec.seed, "noise", client=client)
        noise = draws.standard_normal((position + 1, *sample.shape[1:]), dtype=np.float32)[-1]
        sample += noise * np.float32(np.sqrt(spec.feature_noise * (client + 1) / len(holdings.parts)))
    return sample
