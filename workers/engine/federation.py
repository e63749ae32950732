"""From a spec to a federation: load, partition, noise, hybrid sharing, split. Numpy only, one array for all clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workers.catalog import load_catalog
from workers.component import Arrays, Normalisation, PartitionInput
from workers.engine.hybrid import Share, raw_bytes, share
from workers.errors import FederationError
from workers.spec import RunSpec
from workers.streams import WHOLE_FEDERATION, stream

SHARED_CLIENT = -1
SHARED_STREAM = WHOLE_FEDERATION - 1
VALIDATION_WHERE_NEEDED = 0.1
NOTHING = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class ClientData:
    """A client as index vectors into the federation's `x` and `y`. The shared client of hybrid sharing is -1."""

    index: int
    train: np.ndarray
    validation: np.ndarray
    held_out: np.ndarray
    shared: bool = False

    @property
    def key(self) -> int:
        """What names this client in `workers.streams.stream(client=...)`."""
        return SHARED_STREAM if self.shared else self.index


@dataclass(frozen=True)
class Federation:
    """Normalised float32 samples, int64 labels, the clients that take part, and the server's test set."""

    x: np.ndarray
    y: np.ndarray
    clients: tuple[ClientData, ...]
    test_x: np.ndarray
    test_y: np.ndarray
    shared_bytes: int = 0


def make_federation(spec: RunSpec) -> Federation:
    """The federation of a spec: a pure function of it and of the data."""
    dataset = load_catalog().datasets[spec.dataset.name]
    if what_to_do := dataset.available(spec.dataset):
        raise FederationError(what_to_do)
    arrays = dataset.load(spec.dataset)
    parts = partitioned(spec, arrays)
    constants = dataset.normalisation(spec.dataset.normalise)
    x = finished(noisy(scaled(arrays.train_x), parts, spec), constants, arrays.train_x)
    clients, shared = shared_out(spec, parts)
    clients = tuple(divided(client, spec, has_test_set=bool(len(arrays.test_y))) for client in clients)
    test_x, test_y = server_test_set(arrays, constants, x, clients)
    return Federation(
        x, arrays.train_y, clients, test_x, test_y, shared * raw_bytes(arrays, spec.dataset_facts.classes)
    )


def partitioned(spec: RunSpec, arrays: Arrays) -> Sequence[np.ndarray]:
    data = PartitionInput(
        labels=arrays.train_y,
        classes=spec.dataset_facts.classes,
        clients=spec.client_count,
        natural=arrays.client,
        rng=stream(spec.seed, "partition"),
    )
    if data.clients > len(data.labels):
        raise FederationError(
            f"{data.clients} clients, but only {len(data.labels)} training samples: take fewer clients."
        )
    return load_catalog().partitions[spec.partition.name].split(data, spec.partition)


def scaled(raw: np.ndarray) -> np.ndarray:
    """Bytes to [0, 1]; floats as they are, not copied."""
    if raw.dtype != np.uint8:
        return raw.astype(np.float32, copy=False)
    values = raw.astype(np.float32)
    values /= np.float32(255)
    return values


def noisy(x: np.ndarray, parts: Sequence[np.ndarray], spec: RunSpec) -> np.ndarray:
    """Gaussian noise of variance sigma * i / N on the samples of client i = 1..N; not clipped, as in NIID-Bench."""
    if not spec.feature_noise:
        return x
    x = x.copy()
    for client, indices in enumerate(parts):
        deviation = np.float32(np.sqrt(spec.feature_noise * (client + 1) / len(parts)))
        draw = stream(spec.seed, "noise", client=client).standard_normal((len(indices), *x.shape[1:]), dtype=np.float32)
        draw *= deviation
        x[indices] += draw
    return x


def finished(x: np.ndarray, constants: Normalisation | None, raw: np.ndarray) -> np.ndarray:
    """(x - mean) / std per channel, in place unless that would change the loaded data."""
    if constants is None:
        return x
    per_channel = (len(constants.mean), *[1] * (x.ndim - 2))
    x = np.subtract(
        x, np.array(constants.mean, np.float32).reshape(per_channel), out=None if np.shares_memory(x, raw) else x
    )
    x /= np.array(constants.std, np.float32).reshape(per_channel)
    return x


def shared_out(spec: RunSpec, parts: Sequence[np.ndarray]) -> tuple[tuple[ClientData, ...], int]:
    """The clients that have data after hybrid sharing, and how many samples were shared."""
    given: Share = share(parts, spec.hybrid.method, spec.hybrid.ratio, spec.seed)
    own = tuple(ClientData(index, kept, NOTHING, NOTHING) for index, kept in enumerate(given.kept) if len(kept))
    pool = (ClientData(SHARED_CLIENT, given.pool, NOTHING, NOTHING, shared=True),) if len(given.pool) else ()
    if not own and not pool:
        raise FederationError("No client has any data: choose another partition or more samples.")
    return (pool + own if spec.hybrid.method == "unify" else own + pool), len(given.pool)


def divided(client: ClientData, spec: RunSpec, *, has_test_set: bool) -> ClientData:
    """Train, validation and held-out part; sizes are rounded down, and one training sample is always kept."""
    evaluated = not client.shared and (spec.evaluation.on == "clients" or not has_test_set)
    total = len(client.train)
    validation = min(rounded_down(validation_share(spec) * total), total - 1)
    held_out = min(rounded_down(spec.evaluation.held_out * total) if evaluated else 0, total - 1 - validation)
    if not validation + held_out:
        return client
    order = stream(spec.seed, "split", client=client.key).permutation(client.train)
    cuts = np.split(order, [held_out, held_out + validation])
    return ClientData(client.index, cuts[2], cuts[1], cuts[0], client.shared)


def rounded_down(value: float) -> int:
    """Floor, forgiving the representation of decimal shares (0.29 * 100 is 29)."""
    return int(value + 1e-9)


def validation_share(spec: RunSpec) -> float:
    """As the spec says; a strategy that needs a validation part gets a tenth where the spec says none."""
    if spec.evaluation.validation or not load_catalog().strategies[spec.strategy.name].needs_validation:
        return spec.evaluation.validation
    return min(VALIDATION_WHERE_NEEDED, (1 - spec.evaluation.held_out) / 2)


def server_test_set(
    arrays: Arrays, constants: Normalisation | None, x: np.ndarray, clients: Sequence[ClientData]
) -> tuple[np.ndarray, np.ndarray]:
    """The data set's own, never noisy; otherwise the union of the clients' held-out parts."""
    if len(arrays.test_y):
        return finished(scaled(arrays.test_x), constants, arrays.test_x), arrays.test_y
    held_out = np.sort(np.concatenate([client.held_out for client in clients]))
    if not len(held_out):
        raise FederationError(
            "The data set has no test set and no client holds anything out: raise evaluation.held_out, "
            "take fewer clients, or lower hybrid.ratio."
        )
    return x[held_out], arrays.train_y[held_out]
