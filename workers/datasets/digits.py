from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from workers.catalog.component import Arrays, Dataset, DatasetFacts
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
        return _cache.manifest_of(self.name) is not None or shipped_file() is not None

    def load(self, params: Any) -> Arrays:
        """From the cache after the first time, so that a web server without scikit-learn has it, too."""
        try:
            if manifest := _cache.manifest_of(self.name):
                return _cache.load(self.name, manifest)
        except _cache.CacheDamageError:
            pass
        arrays = from_scikit_learn()
        with suppress(OSError):
            _cache.store(self.name, arrays, Path("scikit-learn"))
        return arrays

    def checksum(self, params: Any) -> str:
        return "sklearn-digits-1797"


def shipped_file() -> Path | None:
    """Found without importing scikit-learn, which takes seconds and is no part of serving processes."""
    package = find_spec("sklearn")
    folders = [Path(each) for each in package.submodule_search_locations or ()] if package else []
    files = [folder / "datasets" / "data" / "digits.csv.gz" for folder in folders]
    return next((file for file in files if file.exists()), None)


def from_scikit_learn() -> Arrays:
    if not (file := shipped_file()):
        raise DatasetError("Digits comes with scikit-learn, which is not here: it appears after its first run.")
    values = np.loadtxt(file, delimiter=",", dtype=np.float32)
    x, y = (values[:, :64] / 16).reshape(-1, 1, 8, 8), values[:, 64].astype(np.int64)
    test = np.arange(len(y)) % TEST_EVERY == 0
    return Arrays(x[~test], y[~test], x[test], y[test])
