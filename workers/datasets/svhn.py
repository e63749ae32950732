from __future__ import annotations

import io
from typing import ClassVar

import numpy as np

from workers.catalog.component import HALF, Arrays, DatasetFacts, Normalisation
from workers.datasets._fetch import Original, Report
from workers.datasets._imported import ImportedDataset
from workers.datasets._originals import Originals
from workers.errors import DatasetError

SHAPE = (3, 32, 32)


class Svhn(ImportedDataset):
    """99,289 cropped house-number digits of 32 x 32 colour pixels: 73,257 to train, 26,032 to test.

    Originals: `train_32x32.mat` and `test_32x32.mat`; the label 10 is the digit 0. Pixels in [0, 1];
    `half` normalises with mean and std 0.5.
    """

    name = "svhn"
    label = "SVHN"
    paper = "Netzer et al.: Reading Digits in Natural Images with Unsupervised Feature Learning, NIPS workshop 2011"
    licence: ClassVar[str] = "non-commercial"
    published: ClassVar[DatasetFacts] = DatasetFacts(SHAPE, 10, 73_257, 26_032, class_names=tuple("0123456789"))
    originals: ClassVar[tuple[Original, ...]] = (
        Original(
            "train_32x32.mat",
            ("http://ufldl.stanford.edu/housenumbers/train_32x32.mat",),
            "md5:e26dedcc434d2e4c54c9b2d4a06d8373",
        ),
        Original(
            "test_32x32.mat",
            ("http://ufldl.stanford.edu/housenumbers/test_32x32.mat",),
            "md5:eb5a983be6a315427106f1b164d9cef3",
        ),
    )

    normalisations: ClassVar[dict[str, Normalisation]] = {"half": HALF}

    def read(self, originals: Originals, report: Report) -> Arrays:
        report(0.0, "train_32x32.mat")
        train = parse_mat(originals.one("train_32x32.mat"))
        report(0.7, "test_32x32.mat")
        return Arrays(*train, *parse_mat(originals.one("test_32x32.mat")))


def parse_mat(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """X is 32 x 32 x 3 x n, y is n x 1."""
    from scipy.io import loadmat  # type: ignore[import-untyped]

    try:
        variables = loadmat(io.BytesIO(content), variable_names=["X", "y"])
        pictures, labels = variables["X"], variables["y"].ravel().astype(np.int64)
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise DatasetError(f"Not an SVHN .mat file: {error}. Get it again.") from None
    if pictures.ndim != 4 or pictures.shape[:3] != (32, 32, 3) or pictures.dtype != np.uint8:
        raise DatasetError(f"SVHN pictures should be 32 x 32 x 3 x n bytes, not {pictures.shape} {pictures.dtype}.")
    return np.ascontiguousarray(pictures.transpose(3, 2, 0, 1)), labels % 10
