from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from workers.catalog.component import QUICK_LOAD_VALUES, Arrays, ClientSource, Dataset, DatasetFacts, DatasetParameters
from workers.errors import Problem
from workers.streams import stream

if TYPE_CHECKING:
    from workers.spec import RunSpec

TEST_SHARE = 10
LEAST, MOST = 50, 10_000
MOST_DEVICES_AT_ONCE = 100_000


class SyntheticParameters(DatasetParameters):
    alpha: float = Field(1.0, ge=0)
    """How much the clients' true models differ."""
    beta: float = Field(1.0, ge=0)
    """How much the clients' data differ."""
    devices: int = Field(30, ge=1, le=1_000_000)
    """Natural clients there are; client k's data does not depend on how many others there are."""
    features: int = Field(60, ge=1)
    """Values of a sample."""
    classes: int = Field(10, ge=2)
    """Number of classes."""
    test_devices: int | None = Field(None, ge=1)
    """Only the first so many clients' test samples are in the test set; the others' are left out. Empty: all clients'.
    """


class Synthetic(Dataset):
    """Synthetic(alpha, beta) of FedProx: every client has a linear model and a distribution of inputs of its own.

    Client k: u ~ N(0, alpha), W and b ~ N(u, 1); B ~ N(0, beta), v ~ N(B, 1); x ~ N(v, S) with S diagonal and
    S_jj = j^-1.2; y = argmax(W x + b). alpha and beta are standard deviations, as in the authors' code. Sizes are
    50 + lognormal(4, 2), at most 10,000; a tenth of each client's samples is the test set. The same parameters always
    give the same data, whatever the run's seed. More than 100,000 clients are made when a round needs them, which
    takes natural clients, none of whose data is shared, and an evaluation of few of them.
    """

    name = "synthetic"
    label = "Synthetic (FedProx)"
    paper = "Li et al.: Federated Optimization in Heterogeneous Networks, MLSys 2020"
    licence: ClassVar[str] = "made here, free"
    Params = SyntheticParameters

    def facts(self, params: Any) -> DatasetFacts:
        total, test = device_sizes(params.devices)
        shape = (params.features,)
        tested = int(test[: params.test_devices].sum())
        return DatasetFacts(shape, params.classes, int((total - test).sum()), tested, params.devices)

    def checksum(self, params: Any) -> str:
        return "made-by-parameters"

    def loads_at_once(self, params: Any) -> bool:
        return self.facts(params).values <= QUICK_LOAD_VALUES

    def load(self, params: Any) -> Arrays:
        total, test = device_sizes(params.devices)
        test = np.where(np.arange(params.devices) < (params.test_devices or params.devices), test, 0)
        train, tested = SampleArrays(total - total // TEST_SHARE, params), SampleArrays(test, params)
        for device, count in enumerate(total.tolist()):
            x, y = device_samples(device, count, params)
            train.put(device, x[count // TEST_SHARE :], y[count // TEST_SHARE :])
            tested.put(device, x[: test[device]], y[: test[device]])
        return Arrays(train.x, train.y, tested.x, tested.y, train.owners, tested.owners)

    def client_source(self, params: Any) -> ClientSource:
        return SyntheticClients(params)

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from super().problems(spec)
        if isinstance(spec.dataset, SyntheticParameters) and spec.dataset.devices > MOST_DEVICES_AT_ONCE:
            yield from on_demand_problems(spec, spec.dataset)


class SampleArrays:
    """Room for so many samples of each client, one client after the other: nothing is there twice while it fills."""

    def __init__(self, counts: np.ndarray, params: SyntheticParameters) -> None:
        self.counts, self.ends = counts, np.cumsum(counts)
        self.x = np.empty((int(counts.sum()), params.features), np.float32)
        self.y = np.empty(len(self.x), np.int64)

    def put(self, client: int, x: np.ndarray, y: np.ndarray) -> None:
        place = slice(self.ends[client] - self.counts[client], self.ends[client])
        self.x[place], self.y[place] = x, y

    @property
    def owners(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.counts)), self.counts)


class SyntheticClients(ClientSource):
    def __init__(self, params: SyntheticParameters) -> None:
        self.params = params
        self.total, self.test = device_sizes(params.devices)
        self.train_sizes = self.total - self.test

    def train_samples(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = device_samples(client, int(self.total[client]), self.params)
        return x[self.test[client] :], y[self.test[client] :]

    def test_samples(self, clients: int) -> tuple[np.ndarray, np.ndarray]:
        counts = self.test[: min(clients, self.params.test_devices or clients)]
        tested = SampleArrays(counts, self.params)
        for client, count in enumerate(counts.tolist()):
            x, y = device_samples(client, int(self.total[client]), self.params)
            tested.put(client, x[:count], y[:count])
        return tested.x, tested.y


def on_demand_problems(spec: RunSpec, params: SyntheticParameters) -> Iterable[Problem]:
    """What would need more clients at once than fit into memory."""
    many, least = f"{params.devices:,} clients are made when a round needs them", f"{MOST_DEVICES_AT_ONCE:,}"
    if spec.partition.name != "natural":
        yield Problem("partition", f"{many}: take the natural partition, or {least} devices at most.")
    if spec.hybrid.ratio:
        yield Problem("hybrid.ratio", f"{many}, and cannot share data: take ratio 0, or {least} devices at most.")
    if spec.evaluation.on != "server" and spec.evaluation.clients == "all":
        yield Problem("evaluation.clients", f"{many}: evaluate on the cohort, or take {least} devices at most.")
    if spec.evaluation.on != "clients" and (params.test_devices or params.devices) > MOST_DEVICES_AT_ONCE:
        yield Problem(
            "dataset.test_devices",
            f"The test set of {params.devices:,} clients does not fit into memory: set {least} at most, or evaluate on "
            "clients.",
        )
    if spec.watches_validation:
        yield Problem("stop.patience", f"{many}, and the validation loss is of all: leave stop.patience out.")


class DeviceSizes:
    """Samples of every client so far, drawn once: client k has as many however many others there are."""

    def __init__(self) -> None:
        self.total, self.lock = np.empty(0, np.int64), Lock()

    def first(self, devices: int) -> np.ndarray:
        with self.lock:
            if devices > len(self.total):
                self.total = np.concatenate([self.total, draw_sizes(range(len(self.total), devices))])
                self.total.flags.writeable = False
            return self.total[:devices]


SIZES = DeviceSizes()


def device_sizes(devices: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples and test samples of each client."""
    total = SIZES.first(devices)
    return total, total // TEST_SHARE


def draw_sizes(devices: range) -> np.ndarray:
    """One generator that is set to each client's stream in turn: a fifth of the time of making one for each."""
    rng = stream(0, "data", client=devices.start, round=1)
    start = rng.bit_generator.state
    key, draws = start["state"]["key"], np.empty(len(devices))
    for place, device in enumerate(devices):
        key[1] = device << 32 | 1
        rng.bit_generator.state = start
        draws[place] = rng.lognormal(4, 2)
    return np.minimum(LEAST + draws, MOST).astype(np.int64)


def device_samples(number: int, count: int, params: SyntheticParameters) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(0, "data", client=number)
    u, centre = rng.normal(0, params.alpha), rng.normal(0, params.beta)
    weights = rng.normal(u, 1, (params.features, params.classes))
    bias = rng.normal(u, 1, params.classes)
    mean = rng.normal(centre, 1, params.features)
    deviation = np.arange(1, params.features + 1) ** -0.6
    x = mean + deviation * rng.standard_normal((count, params.features))
    return x.astype(np.float32), np.argmax(x @ weights + bias, axis=1).astype(np.int64)
