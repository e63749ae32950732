from __future__ import annotations

import io
from typing import ClassVar

import numpy as np

from workers.catalog.component import Arrays, DatasetFacts, Normalisation
from workers.datasets._fetch import Original, Report
from workers.datasets._imported import ImportedDataset
from workers.datasets._originals import Originals
from workers.errors import DatasetError

SHAPE = (3, 32, 32)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
REPORT_EVERY = 1000


class Cinic10(ImportedDataset):
    """270,000 colour pictures of 32 x 32 pixels in CIFAR-10's classes, from CIFAR-10 and ImageNet.

    Train and valid together are the training set (180,000), as in Bozorgzad 2024; 90,000 to test. Originals: folders
    `train`, `valid`, `test` with one folder of .png pictures per class. Normalised with its publisher's constants by
    default; `none` leaves pixels in [0, 1].
    """

    name = "cinic10"
    label = "CINIC-10"
    paper = "Darlow et al.: CINIC-10 Is Not ImageNet or CIFAR-10, 2018"
    licence: ClassVar[str] = "MIT; parts are ImageNet's (non-commercial)"
    published: ClassVar[DatasetFacts] = DatasetFacts(SHAPE, 10, 180_000, 90_000, class_names=CLASSES)
    originals: ClassVar[tuple[Original, ...]] = (
        Original(
            "CINIC-10.tar.gz",
            ("https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz",),
            "md5:6ee4d0c996905fe93221de577967a372",
        ),
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {
        "default": Normalisation((0.47889522, 0.47227842, 0.43047404), (0.24205776, 0.23828046, 0.25874835))
    }

    def read(self, originals: Originals, report: Report) -> Arrays:
        train = [each for split in ("train", "valid") for each in list_pictures(originals, split)]
        test = list_pictures(originals, "test")
        return Arrays(*decode_pictures(originals, train, report), *decode_pictures(originals, test, report))


def list_pictures(originals: Originals, split: str) -> list[tuple[str, int]]:
    """Path and label of every picture, by class and name."""
    labelled_paths = [
        (path, label) for label, name in enumerate(CLASSES) for path in originals.find(f"{split}/{name}/*.png")
    ]
    if not labelled_paths:
        raise DatasetError(f"No {split}/<class>/*.png in {originals.source}. Give the folder that holds CINIC-10.")
    return labelled_paths


def decode_pictures(
    originals: Originals, labelled_paths: list[tuple[str, int]], report: Report
) -> tuple[np.ndarray, np.ndarray]:
    x = np.empty((len(labelled_paths), *SHAPE), np.uint8)
    for number, (path, _) in enumerate(labelled_paths):
        if number % REPORT_EVERY == 0:
            report(number / len(labelled_paths), path)
        x[number] = decode_picture(originals.read(path), path)
    return x, np.array([label for _, label in labelled_paths], np.int64)


def decode_picture(content: bytes, path: str) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise DatasetError(f"{path} is not a picture: {error}. Get it again.") from None
    if pixels.shape != (32, 32, 3):
        raise DatasetError(f"{path} has {pixels.shape[1]} x {pixels.shape[0]} pixels instead of 32 x 32.")
    return pixels.transpose(2, 0, 1)
