from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from workers.component import Arrays, Dataset, DatasetFacts

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

    def load(self, params: Any) -> Arrays:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped]

        pixels, labels = load_digits(return_X_y=True)
        x = (pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8)
        y = labels.astype(np.int64)
        test = np.arange(len(y)) % TEST_EVERY == 0
        return Arrays(x[~test], y[~test], x[test], y[test])

    def checksum(self, params: Any) -> str:
        return "sklearn-digits-1797"
