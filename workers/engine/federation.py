"""From a spec to a federation: load, partition, noise, hybrid sharing, split. Numpy only, one array for all clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from workers.catalog import load_catalog
from workers.catalog.component import Arrays, Normalisation, PartitionInput, elements
from workers.errors import FederationError
from workers.partitions._cuts import split_faults
from workers.spec import RunSpec
from workers.spec.runspec import rounded_share
from workers.streams import WHOLE_FEDERATION, stream

SHARED_CLIENT = -1
SHARED_STREAM = WHOLE_FEDERATION - 1
NOTHING_TO_EVALUATE = (
    "Evaluation is on what the clients hold out, and no client holds anything out: raise evaluation.held_out, take "
    "fewer clients, lower hybrid.ratio, or evaluate on the server where the data set has a test set."
)
NOTHING_TO_WATCH = (
    "stop.patience watches the validation loss, and no client is large enough for a validation part: raise "
    "evaluation.validation, take fewer clients, or leave stop.patience out."
)
NO_SAMPLES = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class ClientData:
    """A client as index vectors into the federation's `x` and `y`. The shared client of hybrid sharing is -1.

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
    loaded = dataset.load_for_run(spec.dataset)
    arrays, parts = drop_unused_samples(loaded, partition_samples(spec, loaded))
    constants = dataset.normalisation(spec.dataset.normalise)
    if arrays is loaded and not spec.feature_noise:
        x, own_test_x = SAMPLES.get(data_key(spec), lambda: prepare_samples(arrays, constants))
    else:
        noisy = add_feature_noise(scale_to_unit(arrays.train_x), arrays.train_x, parts, spec)
        x, own_test_x = normalise(noisy, arrays.train_x, constants), prepare_test_set(arrays, constants)
    clients = make_clients(spec, parts, on_clients=spec.evaluation.on != "server" or not len(arrays.test_y))
    test_x, test_y = server_test_set(arrays, own_test_x, x, clients)
    return Federation(x, arrays.train_y, clients, test_x, test_y, sharing_bytes(spec, arrays, clients))


Prepared = tuple[np.ndarray, np.ndarray]


class PreparedSamples:
    """Train and test set as numbers, of the last data set that was asked for: most runs of a grid have the same.

    Nothing that computes changes them. What was there before goes first, so that two never lie side by side.
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.samples: Prepared | None = None

    def get(self, key: str, prepare: Callable[[], Prepared]) -> Prepared:
        if self.samples is None or self.key != key:
            self.key = self.samples = None
            self.samples = prepare()
            self.key = key
        return self.samples


SAMPLES = PreparedSamples()


def data_key(spec: RunSpec) -> str:
    """The data set's parameters and the checksum of what it is now."""
    dataset = load_catalog().datasets[spec.dataset.name]
    return f"{spec.dataset.model_dump_json()} {dataset.checksum(spec.dataset)} {dataset.stamp}"


def prepare_samples(arrays: Arrays, constants: Normalisation | None) -> Prepared:
    x = normalise(scale_to_unit(arrays.train_x), arrays.train_x, constants)
    return x, prepare_test_set(arrays, constants)


def prepare_test_set(arrays: Arrays, constants: Normalisation | None) -> np.ndarray:
    return normalise(scale_to_unit(arrays.test_x), arrays.test_x, constants) if len(arrays.test_y) else arrays.test_x


def partition_samples(spec: RunSpec, arrays: Arrays) -> Sequence[np.ndarray]:
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
    partition = load_catalog().partitions[spec.partition.name]
    parts = partition.split(data, spec.partition)
    if faults := split_faults(parts, data, leaves_out=partition.leaves_samples_out):
        raise FederationError(
            f"The partition {partition.name} does not hand out every sample once: {', '.join(faults)}."
            + (" Take fewer clients or raise its min_size." if hasattr(spec.partition, "min_size") else "")
        )
    return parts


def drop_unused_samples(arrays: Arrays, parts: Sequence[np.ndarray]) -> tuple[Arrays, Sequence[np.ndarray]]:
    """Without the samples that no client holds (natural clients left out), so that they cost no memory."""
    if sum(len(part) for part in parts) == len(arrays.train_y):
        return arrays, parts
    used = np.sort(np.concatenate(parts))
    position = np.zeros(len(arrays.train_y), dtype=np.int64)
    position[used] = np.arange(len(used))
    restricted = replace(arrays, train_x=arrays.train_x[used], train_y=arrays.train_y[used])
    if arrays.client is not None and arrays.test_client is not None:
        known = np.isin(arrays.test_client, arrays.client[used])
        restricted = replace(restricted, test_x=arrays.test_x[known], test_y=arrays.test_y[known])
    return restricted, [position[part] for part in parts]


def scale_to_unit(raw: np.ndarray) -> np.ndarray:
    """Bytes to [0, 1] in one pass; floats as they are, not copied."""
    plain = np.asarray(raw)
    if raw.dtype != np.uint8:
        return plain.astype(np.float32, copy=False)
    values: np.ndarray = np.divide(plain, np.float32(255), dtype=np.float32)
    return values


def add_feature_noise(x: np.ndarray, raw: np.ndarray, parts: Sequence[np.ndarray], spec: RunSpec) -> np.ndarray:
    """On every client's samples, in place unless that would change the loaded data."""
    if not spec.feature_noise:
        return x
    x = x.copy() if np.may_share_memory(x, raw) else x
    for client, indices in enumerate(parts):
        x[indices] += feature_noise(spec, client, len(parts), (len(indices), *x.shape[1:]))
    return x


def feature_noise(spec: RunSpec, client: int, clients: int, shape: tuple[int, ...]) -> np.ndarray:
    """Gaussian of variance sigma * i / N for samples of client i = 1..N, in order; not clipped, as in NIID-Bench."""
    noise = stream(spec.seed, "noise", client=client).standard_normal(shape, dtype=np.float32)
    noise *= np.float32(np.sqrt(spec.feature_noise * (client + 1) / clients))
    return noise


def normalise(x: np.ndarray, raw: np.ndarray, constants: Normalisation | None) -> np.ndarray:
    """(x - mean) / std per channel, in place unless that would change the loaded data."""
    if constants is None:
        return x
    per_channel = (len(constants.mean), *[1] * (x.ndim - 2))
    mean, std = (np.array(each, np.float32).reshape(per_channel) for each in (constants.mean, constants.std))
    x = np.subtract(x, mean, out=None if np.may_share_memory(x, raw) else x)
    x /= std
    return x


def make_clients(spec: RunSpec, parts: Sequence[np.ndarray], *, on_clients: bool) -> tuple[ClientData, ...]:
    """The clients that have data after hybrid sharing, each split as the evaluation needs it."""
    clients = tuple(split_client(client, spec, on_clients) for client in share_between_clients(spec, parts))
    if on_clients and not any(len(client.held_out) for client in clients):
        raise FederationError(NOTHING_TO_EVALUATE)
    if spec.watches_validation and not any(len(client.validation) for client in clients):
        raise FederationError(NOTHING_TO_WATCH)
    return clients


def share_between_clients(spec: RunSpec, parts: Sequence[np.ndarray]) -> tuple[ClientData, ...]:
    """share-disjoint appends the shared client, unify puts it first."""
    share = hybrid_share(parts, spec.hybrid.method, spec.hybrid.ratio, spec.seed)
    own = tuple(ClientData(index, part, NO_SAMPLES, NO_SAMPLES) for index, part in enumerate(share.own) if len(part))
    pool = (ClientData(SHARED_CLIENT, share.pool, NO_SAMPLES, NO_SAMPLES, shared=True),) if len(share.pool) else ()
    if not own and not pool:
        raise FederationError("No client has any data: choose another partition or more samples.")
    return pool + own if spec.hybrid.method == "unify" else own + pool


def sharing_bytes(spec: RunSpec, arrays: Arrays, clients: Sequence[ClientData]) -> int:
    samples = sum(len(client.train) + len(client.validation) for client in clients if client.shared)
    return samples * sample_bytes(arrays, spec.dataset_facts.classes)


def split_client(client: ClientData, spec: RunSpec, on_clients: bool) -> ClientData:
    """Train, validation and held-out part; sizes are rounded down, and one training sample is always kept."""
    total = len(client.train)
    validation = min(rounded_share(spec.evaluation.validation, total), total - 1)
    held_out_share = spec.evaluation.held_out if on_clients and not client.shared else 0.0
    held_out = min(rounded_share(held_out_share, total), total - 1 - validation)
    if not validation + held_out:
        return client
    order = stream(spec.seed, "split", client=client.key).permutation(client.train)
    cuts = np.split(order, [held_out, held_out + validation])
    return replace(client, train=cuts[2], validation=cuts[1], held_out=cuts[0])


def server_test_set(
    arrays: Arrays, own_test_x: np.ndarray, x: np.ndarray, clients: Sequence[ClientData]
) -> tuple[np.ndarray, np.ndarray]:
    """The data set's own, never noisy; otherwise the union of the clients' held-out parts."""
    if len(arrays.test_y):
        return own_test_x, arrays.test_y
    held_out = np.sort(np.concatenate([client.held_out for client in clients]))
    return x[held_out], arrays.train_y[held_out]


@dataclass(frozen=True)
class HybridShare:
    """What each client keeps (possibly nothing) and the shared samples."""

    own: tuple[np.ndarray, ...]
    pool: np.ndarray


def hybrid_share(
    parts: Sequence[np.ndarray], method: Literal["share-disjoint", "unify"], ratio: float, seed: int
) -> HybridShare:
    make_masks = shared_sample_masks if method == "share-disjoint" else shared_client_masks
    masks = make_masks(parts, ratio, seed)
    pool = [part[mask] for part, mask in zip(parts, masks, strict=True)]
    own = tuple(part if not mask.any() else part[~mask] for part, mask in zip(parts, masks, strict=True))
    return HybridShare(own, np.concatenate(pool))


def shared_sample_masks(parts: Sequence[np.ndarray], ratio: float, seed: int) -> list[np.ndarray]:
    """For each client, a mask over its samples."""
    masks = []
    for client, part in enumerate(parts):
        mask = np.zeros(len(part), dtype=bool)
        if count := rounded_share(ratio, len(part)):
            mask[stream(seed, "hybrid", client=client).permutation(len(part))[:count]] = True
        masks.append(mask)
    return masks


def shared_client_masks(parts: Sequence[np.ndarray], ratio: float, seed: int) -> list[np.ndarray]:
    givers = set(stream(seed, "hybrid").permutation(len(parts))[: rounded_share(ratio, len(parts))].tolist())
    return [np.full(len(part), client in givers) for client, part in enumerate(parts)]


def sample_bytes(arrays: Arrays, classes: int) -> int:
    """What one sample costs to send as stored: 1 byte a pixel of a byte image, 4 a float value, and its label.

    The label takes the smallest unsigned integer that can name every class: 1 byte up to 256 classes.
    """
    value = 1 if arrays.train_x.dtype == np.uint8 else 4
    return elements(arrays.train_x.shape[1:]) * value + np.min_scalar_type(classes - 1).itemsize
