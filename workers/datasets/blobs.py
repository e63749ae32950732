from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field

from workers.catalog.component import QUICK_LOAD_VALUES, Arrays, Dataset, DatasetFacts, DatasetParameters, as_tuple
from workers.errors import Problem
from workers.streams import stream

if TYPE_CHECKING:
    from workers.spec import RunSpec

MOST_VALUES = 2**31
BLOCK = 10_000


class BlobsParameters(DatasetParameters):
    shape: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=3)
    ] = (20,)
    """Of one sample: [features] or [channels, height, width]. In a grid it is written [[...]]."""
    classes: int = Field(10, ge=2)
    """Number of classes, equally frequent."""
    train: int = Field(2000, ge=1)
    """Training samples."""
    test: int = Field(500, ge=0)
    """Test samples; 0 makes a data set without a test set of its own."""
    spread: float = Field(0.5, ge=0)
    """Standard deviation of a sample around its class's centre; larger is harder."""


class Blobs(Dataset):
    """Made data of any size: one Gaussian blob per class, for trying things out, calibration and benchmarks.

    Centres are uniform in [0, 1] per value, samples are centre + spread * N(0, 1) clipped to [0, 1]. The same
    parameters always give the same data, whatever the run's seed.
    """

    name = "blobs"
    label = "Blobs (made)"
    licence: ClassVar[str] = "made here, free"
    Params = BlobsParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from super().problems(spec)
        if (values := spec.dataset_facts.values) > MOST_VALUES:
            yield Problem("dataset", f"{values:,} values are more than {MOST_VALUES:,}: fewer samples or smaller ones.")

    def facts(self, params: Any) -> DatasetFacts:
        return DatasetFacts(params.shape, params.classes, params.train, params.test)

    def loads_at_once(self, params: Any) -> bool:
        return self.facts(params).values <= QUICK_LOAD_VALUES

    def load(self, params: Any) -> Arrays:
        rng = stream(0, "data")
        centres = rng.random((params.classes, *params.shape), dtype=np.float32)
        train_x, train_y = draw_samples(rng, centres, params.train, params.spread)
        test_x, test_y = draw_samples(rng, centres, params.test, params.spread)
        return Arrays(train_x, train_y, test_x, test_y)

    def checksum(self, params: Any) -> str:
        return "made-by-parameters"


def draw_samples(
    rng: np.random.Generator, centres: np.ndarray, count: int, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    y = rng.permutation(np.arange(count, dtype=np.int64) % len(centres))
    x = rng.standard_normal((count, *centres.shape[1:]), dtype=np.float32)
    x *= np.float32(spread)
    for first in range(0, count, BLOCK):  # all centres at once would take the memory of the samples again
        x[first : first + BLOCK] += centres[y[first : first + BLOCK]]
    return np.clip(x, 0, 1, out=x), y
