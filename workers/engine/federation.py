"""From a spec to a federation: load, partition, noise, hybrid sharing, split. Numpy only, one array for all clients.

Where a data set can make its natural clients one by one and all of them would be too much, no sample is made before
somebody asks for its client.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from workers.catalog import load_catalog
from workers.catalog.component import Arrays, ClientSource, Dataset, Normalisation, PartitionInput, elements
from workers.engine.clients import NO_SAMPLES, SHARED_CLIENT, ClientData, Clients
from workers.engine.poisoning import malicious_clients, poison_client, poison_samples
from workers.errors import FederationError
from workers.partitions._cuts import Parts, split_faults
from workers.spec import RunSpec
from workers.spec.runspec import rounded_share
from workers.streams import stream

NOTHING_TO_EVALUATE = (
    "Evaluation is on what the clients hold out, and no client holds anything out: raise evaluation.held_out, take "
    "fewer clients, lower hybrid.ratio, or evaluate on the server where the data set has a test set."
)
NOTHING_TO_WATCH = (
    "stop.patience watches the validation loss, and no client is large enough for a validation part: raise "
    "evaluation.validation, take fewer clients, or leave stop.patience out."
)
ON_DEMAND_VALUES = 2**26
"""Above so many values (256 MB) samples are made for a cohort at a time, where the data set can. No bit differs."""


@dataclass(frozen=True)
class Federation:
    """Normalised float32 samples, int64 labels, the clients that take part, and the server's test set.

    With `make_samples`, which gives a client's x and y, there is nothing in `x` and `y`.
    """

    x: np.ndarray
    y: np.ndarray
    clients: Clients
    test_x: np.ndarray
    test_y: np.ndarray
    shared_bytes: int = 0
    make_samples: Callable[[int], tuple[np.ndarray, np.ndarray]] | None = None

    def labels(self, client: ClientData) -> np.ndarray:
        """Of its training samples."""
        y = self.y if self.make_samples is None else self.make_samples(client.index)[1]
        labels: np.ndarray = y[client.train]
        return labels


Prepared = tuple[np.ndarray, np.ndarray]
"""Samples and test samples of a data set as numbers."""


def make_federation(
    spec: RunSpec, *, whole: bool = False, prepare: Callable[[Callable[[], Prepared]], Prepared] = lambda make: make()
) -> Federation:
    """The federation of a spec: a pure function of it and of the data. `whole`: no sample is left for later.

    `prepare` may have the samples of the whole data set already.
    """
    dataset = require_data(spec)
    if not whole and (source := source_on_demand(spec)):
        return federation_on_demand(spec, source)
    loaded = dataset.load_for_run(spec.dataset)
    arrays, parts = drop_unused_samples(loaded, partition_samples(spec, loaded))
    constants = dataset.normalisation(spec.dataset.normalise)
    if arrays is loaded and not spec.feature_noise:
        x, own_test_x = prepare(lambda: prepare_samples(arrays, constants))
    else:
        x, own_test_x = prepare_noisy(spec, arrays, parts, constants), prepare_test_set(arrays, constants)
    clients = make_clients(spec, parts, on_clients=spec.evaluation.on != "server" or not len(arrays.test_y))
    test_x, test_y = server_test_set(arrays, own_test_x, x, clients)
    x, y = poison_samples(spec, x, arrays.train_y, clients)
    return Federation(x, y, clients, test_x, test_y, sharing_bytes(spec, arrays, clients))


def require_data(spec: RunSpec) -> Dataset:
    dataset = load_catalog().datasets[spec.dataset.name]
    if what_to_do := dataset.available(spec.dataset):
        raise FederationError(what_to_do)
    return dataset


def source_on_demand(spec: RunSpec) -> ClientSource | None:
    """Where the samples of clients are made when they are asked for: there are many, and nothing needs all at once."""
    few_evaluate = spec.evaluation.on == "server" or spec.evaluation.clients == "cohort"
    one_by_one = spec.partition.name == "natural" and not spec.hybrid.ratio and spec.dataset_facts.test and few_evaluate
    if not one_by_one or spec.watches_validation or spec.dataset_facts.values <= ON_DEMAND_VALUES:
        return None
    return load_catalog().datasets[spec.dataset.name].client_source(spec.dataset)


def federation_on_demand(spec: RunSpec, source: ClientSource) -> Federation:
    count, on_server = spec.client_count, spec.evaluation.on != "clients"
    constants = load_catalog().datasets[spec.dataset.name].normalisation(spec.dataset.normalise)
    numbers = np.arange(count)
    clients = split_clients(spec, numbers, None, source.train_sizes[:count], on_clients=spec.evaluation.on != "server")
    malicious = malicious_clients(spec, clients)

    def make_samples(client: int) -> tuple[np.ndarray, np.ndarray]:
        raw, y = source.train_samples(client)
        x = prepare_client(spec, raw, client, constants)
        if spec.attack is None or client not in malicious:
            return x, y
        own = clients[client]
        x, y = x.copy(), y.copy()
        x[own.train], y[own.train] = poison_client(spec, spec.attack, own, x[own.train], y[own.train])
        return x, y

    test = source.test_samples(count if on_server else 0)
    nothing = np.empty((0, *spec.dataset_facts.shape), np.float32)
    test_x = normalise(scale_to_unit(test[0]), test[0], constants)
    return Federation(nothing, NO_SAMPLES, clients, test_x, test[1], make_samples=make_samples)


def prepare_client(spec: RunSpec, raw: np.ndarray, client: int, constants: Normalisation | None) -> np.ndarray:
    """The same values as `prepare_samples` and `prepare_noisy` give for all clients."""
    x = scale_to_unit(raw)
    if not spec.feature_noise:
        return normalise(x, raw, constants)
    noise = feature_noise(spec, client, spec.client_count, x.shape)
    if spec.feature_noise_kind == "variance":
        noise += x
        return normalise(noise, raw, constants)
    noise += normalise(x, raw, constants)
    return noise


def prepare_samples(arrays: Arrays, constants: Normalisation | None) -> Prepared:
    x = normalise(scale_to_unit(arrays.train_x), arrays.train_x, constants)
    return x, prepare_test_set(arrays, constants)


def prepare_noisy(
    spec: RunSpec, arrays: Arrays, parts: Sequence[np.ndarray], constants: Normalisation | None
) -> np.ndarray:
    """Noise as a variance is on data in [0, 1], noise as a deviation on normalised data."""
    x, raw = scale_to_unit(arrays.train_x), arrays.train_x
    if spec.feature_noise_kind == "variance":
        return normalise(add_feature_noise(x, raw, parts, spec), raw, constants)
    return add_feature_noise(normalise(x, raw, constants), raw, parts, spec)


def prepare_test_set(arrays: Arrays, constants: Normalisation | None) -> np.ndarray:
    return normalise(scale_to_unit(arrays.test_x), arrays.test_x, constants) if len(arrays.test_y) else arrays.test_x


def partition_samples(spec: RunSpec, arrays: Arrays) -> Parts:
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
    return Parts.of(parts)


def drop_unused_samples(arrays: Arrays, parts: Parts) -> tuple[Arrays, Parts]:
    """Without the samples that no client holds (natural clients left out), so that they cost no memory."""
    if len(parts.samples) == len(arrays.train_y):
        return arrays, parts
    used = np.sort(parts.samples)
    position = np.zeros(len(arrays.train_y), dtype=np.int64)
    position[used] = np.arange(len(used))
    restricted = replace(arrays, train_x=arrays.train_x[used], train_y=arrays.train_y[used])
    if arrays.client is not None and arrays.test_client is not None:
        known = np.isin(arrays.test_client, arrays.client[used])
        restricted = replace(restricted, test_x=arrays.test_x[known], test_y=arrays.test_y[known])
    return restricted, Parts(position[parts.samples], parts.bounds)


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
    """Gaussian, for the samples of a client in order, not clipped: of variance sigma * i / N for client i = 1..N, or of
    standard deviation sigma * i / (N - 1) for client i = 0..N-1, as NIID-Bench's code has it."""
    noise = stream(spec.seed, "noise", client=client).standard_normal(shape, dtype=np.float32)
    if spec.feature_noise_kind == "variance":
        noise *= np.float32(np.sqrt(spec.feature_noise * (client + 1) / clients))
    else:
        noise *= np.float32(spec.feature_noise * client / max(1, clients - 1))
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


def make_clients(spec: RunSpec, parts: Sequence[np.ndarray], *, on_clients: bool) -> Clients:
    """The clients that have data after hybrid sharing, each split as the evaluation needs it."""
    clients = share_between_clients(spec, parts)
    return split_clients(spec, clients.numbers, clients.parts, clients.totals, on_clients=on_clients)


def share_between_clients(spec: RunSpec, parts: Sequence[np.ndarray]) -> Clients:
    """share-disjoint appends the shared client, unify puts it first."""
    share = hybrid_share(parts, spec.hybrid.method, spec.hybrid.ratio, spec.seed)
    sizes, pool = share.own.sizes, share.pool
    numbers, samples = np.flatnonzero(sizes), share.own.samples
    sizes = sizes[numbers]
    if not len(numbers) and not len(pool):
        raise FederationError("No client has any data: choose another partition or more samples.")
    if len(pool):
        at, end = (0, 0) if spec.hybrid.method == "unify" else (len(numbers), len(samples))
        numbers, sizes = np.insert(numbers, at, SHARED_CLIENT), np.insert(sizes, at, len(pool))
        samples = np.concatenate([samples[:end], pool, samples[end:]])
    return Clients(numbers, Parts.cut(samples, sizes))


def sharing_bytes(spec: RunSpec, arrays: Arrays, clients: Clients) -> int:
    if clients.shared_row is None:
        return 0
    samples = int(clients.totals[clients.shared_row] - clients.held_out_sizes[clients.shared_row])
    return samples * sample_bytes(arrays, spec.dataset_facts.classes)


def split_clients(
    spec: RunSpec, numbers: np.ndarray, parts: Parts | None, totals: np.ndarray, *, on_clients: bool
) -> Clients:
    """Train, validation and held-out part; sizes are rounded down, and one training sample is always kept."""
    validation = np.minimum(rounded_shares(spec.evaluation.validation, totals), totals - 1)
    held_out_share = np.where(numbers == SHARED_CLIENT, 0.0, spec.evaluation.held_out if on_clients else 0.0)
    held_out = np.minimum(rounded_shares(held_out_share, totals), totals - 1 - validation)
    if on_clients and not held_out.any():
        raise FederationError(NOTHING_TO_EVALUATE)
    if spec.watches_validation and not validation.any():
        raise FederationError(NOTHING_TO_WATCH)
    return Clients(numbers, parts, totals=totals, validation=validation, held_out=held_out, seed=spec.seed)


def rounded_shares(ratio: float | np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`rounded_share` of each."""
    return np.floor(ratio * counts + 1e-9).astype(np.int64)


def server_test_set(
    arrays: Arrays, own_test_x: np.ndarray, x: np.ndarray, clients: Clients
) -> tuple[np.ndarray, np.ndarray]:
    """The data set's own, never noisy; otherwise the union of the clients' held-out parts."""
    if len(arrays.test_y):
        return own_test_x, arrays.test_y
    held_out = np.sort(np.concatenate([client.held_out for client in clients]))
    return x[held_out], arrays.train_y[held_out]


@dataclass(frozen=True)
class HybridShare:
    """What each client keeps (possibly nothing) and the shared samples."""

    own: Parts
    pool: np.ndarray


def hybrid_share(
    parts: Sequence[np.ndarray], method: Literal["share-disjoint", "unify"], ratio: float, seed: int
) -> HybridShare:
    cut = Parts.of(parts)
    if not ratio:
        return HybridShare(cut, NO_SAMPLES)
    mask = (shared_sample_mask if method == "share-disjoint" else shared_client_mask)(cut, ratio, seed)
    kept_before = np.concatenate([[0], np.cumsum(~mask)])
    return HybridShare(Parts(cut.samples[~mask], kept_before[cut.bounds]), cut.samples[mask])


def shared_sample_mask(parts: Parts, ratio: float, seed: int) -> np.ndarray:
    """Over all samples in the clients' order: of every client its share."""
    mask = np.zeros(len(parts.samples), dtype=bool)
    for client, (start, end) in enumerate(pairwise(parts.bounds.tolist())):
        if count := rounded_share(ratio, end - start):
            mask[start + stream(seed, "hybrid", client=client).permutation(end - start)[:count]] = True
    return mask


def shared_client_mask(parts: Parts, ratio: float, seed: int) -> np.ndarray:
    gives = np.zeros(len(parts), dtype=bool)
    gives[stream(seed, "hybrid").permutation(len(parts))[: rounded_share(ratio, len(parts))]] = True
    return np.repeat(gives, parts.sizes)


def sample_bytes(arrays: Arrays, classes: int) -> int:
    """What one sample costs to send as stored: 1 byte a pixel of a byte image, 4 a float value, and its label.

    The label takes the smallest unsigned integer that can name every class: 1 byte up to 256 classes.
    """
    value = 1 if arrays.train_x.dtype == np.uint8 else 4
    return elements(arrays.train_x.shape[1:]) * value + np.min_scalar_type(classes - 1).itemsize
