from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from workers.catalog.component import Arrays, DatasetFacts
from workers.datasets._fetch import Original, Report
from workers.datasets._imported import ImportedDataset
from workers.datasets._originals import Originals
from workers.errors import DatasetError

FEATURES = 561
CLASSES = ("walking", "walking upstairs", "walking downstairs", "sitting", "standing", "laying")


class UciHar(ImportedDataset):
    """10,299 windows of smartphone motion as 561 features in [-1, 1], six activities; natural clients are subjects.

    21 subjects have 7,352 training windows; the 2,947 test windows of the 9 others are one common test set.
    Originals: the UCI HAR zip or its folder. Labels 1 to 6 become 0 to 5.
    """

    name = "uci-har"
    label = "UCI HAR"
    paper = "Anguita et al.: A Public Domain Dataset for Human Activity Recognition Using Smartphones, ESANN 2013"
    licence: ClassVar[str] = "non-commercial; cite the paper"
    published: ClassVar[DatasetFacts] = DatasetFacts((FEATURES,), 6, 7_352, 2_947, 21, CLASSES)
    originals: ClassVar[tuple[Original, ...]] = (
        Original(
            "human-activity-recognition.zip",
            ("https://archive.ics.uci.edu/static/public/240/human+activity+recognition+using+smartphones.zip",),
            "sha256:c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031",
        ),
    )

    def read(self, originals: Originals, report: Report) -> Arrays:
        report(0.0, "train")
        train_x, train_y, subject = read_split(originals, "train")
        report(0.7, "test")
        test_x, test_y, _ = read_split(originals, "test")
        return Arrays(train_x, train_y, test_x, test_y, subject)


def read_split(originals: Originals, split: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = parse_numbers(originals.one(f"{split}/X_{split}.txt"), np.float64)
    if len(values) % FEATURES:
        raise DatasetError(f"X_{split}.txt has {len(values)} values, which is no multiple of {FEATURES}.")
    labels = parse_numbers(originals.one(f"{split}/y_{split}.txt"), np.int64)
    subjects = parse_numbers(originals.one(f"{split}/subject_{split}.txt"), np.int64)
    if len(subjects) != len(labels):
        raise DatasetError(f"{len(labels)} {split} labels, but {len(subjects)} subjects.")
    return values.reshape(-1, FEATURES).astype(np.float32), labels - 1, subjects


def parse_numbers(content: bytes, kind: type[np.generic]) -> np.ndarray:
    try:
        with warnings.catch_warnings():
            # numpy only warns where it stops at something that is not a number.
            warnings.simplefilter("error", DeprecationWarning)
            return np.fromstring(content.decode("ascii"), dtype=kind, sep=" ")
    except (ValueError, DeprecationWarning):
        raise DatasetError("A file of numbers holds something else. Get the originals again.") from None
