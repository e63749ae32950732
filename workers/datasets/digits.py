from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from workers.component import Arrays, Dataset, DatasetFacts
from workers.datasets import _cache
from workers.errors import DatasetError

TEST_EVERY = 5


class Digits(Dataset):
    """1,797 real handwritten digits of 8 x 8 pixels that ship with scikit-learn: nothing to download.

    Every fifth sample is the test set (360), the rest the training set (1,437); pixels are 0 to 16, scaled to [0, 1].
    """

    name = "digits"
    label = "Digits"
    paper = "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI, 1998"
    licence: ClassVar[str] = "CC BY 4.0"

    def facts(self, params: Any) -> DatasetFacts:
        return DatasetFacts((1, 8, 8), 10, 1437, 360, class_names=tuple("0123456789"))

    def loads_at_once(self, params: Any) -> bool:
        return _cache.manifest_of(self.name) is not None

    def load(self, params: Any) -> Arrays:
        """From the cache after the first time: importing scikit-learn takes seconds, and the web server has none."""
        try:
            if known := _cache.manifest_of(self.name):
                return _cache.load(self.name, known)
        except _cache.CacheDamageError:
            pass
        made = from_scikit_learn()
        with suppress(OSError):
            _cache.store(self.name, made, Path("scikit-learn"))
        return made

    def checksum(self, params: Any) -> str:
        return "sklearn-digits-1797"


def from_scikit_learn() -> Arrays:
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped]
    except ImportError:
        raise DatasetError(
            "Digits comes with scikit-learn, which is not here: it appears after its first run."
        ) from None
    pixels, labels = load_digits(return_X_y=True)
    x = (pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    y = labels.astype(np.int64)
    test = np.arange(len(y)) % TEST_EVERY == 0
    return Arrays(x[~test], y[~test], x[test], y[test])
