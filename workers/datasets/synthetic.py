from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from workers.catalog.component import QUICK_LOAD_VALUES, Arrays, Dataset, DatasetFacts, DatasetParameters
from workers.streams import stream

TEST_SHARE = 10
LEAST, MOST = 50, 10_000


class SyntheticParameters(DatasetParameters):
    alpha: float = Field(1.0, ge=0)
    """How much the clients' true models differ."""
    beta: float = Field(1.0, ge=0)
    """How much the clients' data differ."""
    devices: int = Field(30, ge=1, le=100_000)
    """Natural clients there are; client k's data does not depend on how many others there are."""
    features: int = Field(60, ge=1)
    """Values of a sample."""
    classes: int = Field(10, ge=2)
    """Number of classes."""


class Synthetic(Dataset):
    """Synthetic(alpha, beta) of FedProx: every client has a linear model and a distribution of inputs of its own.

    Client k: u ~ N(0, alpha), W and b ~ N(u, 1); B ~ N(0, beta), v ~ N(B, 1); x ~ N(v, S) with S diagonal and
    S_jj = j^-1.2; y = argmax(W x + b). alpha and beta are standard deviations, as in the authors' code. Sizes are
    50 + lognormal(4, 2), at most 10,000; a tenth of each client's samples is the test set. The same parameters always
    give the same data, whatever the run's seed.
    """

    name = "synthetic"
    label = "Synthetic (FedProx)"
    paper = "Li et al.: Federated Optimization in Heterogeneous Networks, MLSys 2020"
    licence: ClassVar[str] = "made here, free"
    Params = SyntheticParameters

    def facts(self, params: Any) -> DatasetFacts:
        total, test = device_sizes(params.devices)
        shape = (params.features,)
        return DatasetFacts(shape, params.classes, int((total - test).sum()), int(test.sum()), params.devices)

    def checksum(self, params: Any) -> str:
        return "made-by-parameters"

    def loads_at_once(self, params: Any) -> bool:
        return self.facts(params).values <= QUICK_LOAD_VALUES

    def load(self, params: Any) -> Arrays:
        total, test = device_sizes(params.devices)
        by_device = [device_samples(number, int(count), params) for number, count in enumerate(total)]
        x, y = np.concatenate([x for x, _ in by_device]), np.concatenate([y for _, y in by_device])
        owner = np.repeat(np.arange(params.devices), total)
        place = np.arange(len(y)) - np.repeat(np.cumsum(total) - total, total)
        for_test = place < np.repeat(test, total)
        return Arrays(x[~for_test], y[~for_test], x[for_test], y[for_test], owner[~for_test], owner[for_test])


@lru_cache(maxsize=16)
def device_sizes(devices: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples and test samples of each client."""
    draws = [stream(0, "data", client=number, round=1).lognormal(4, 2) for number in range(devices)]
    total = np.minimum(LEAST + np.array(draws), MOST).astype(np.int64)
    return total, total // TEST_SHARE


def device_samples(number: int, count: int, params: SyntheticParameters) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(0, "data", client=number)
    u, centre = rng.normal(0, params.alpha), rng.normal(0, params.beta)
    weights = rng.normal(u, 1, (params.features, params.classes))
    bias = rng.normal(u, 1, params.classes)
    mean = rng.normal(centre, 1, params.features)
    deviation = np.arange(1, params.features + 1) ** -0.6
    x = mean + deviation * rng.standard_normal((count, params.features))
    return x.astype(np.float32), np.argmax(x @ weights + bias, axis=1).astype(np.int64)
