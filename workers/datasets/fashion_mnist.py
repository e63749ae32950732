from __future__ import annotations

from typing import ClassVar

from workers.component import DatasetFacts, Normalisation
from workers.datasets._fetch import Original
from workers.datasets._idx import IdxDataset, idx_files

CLASSES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


class FashionMnist(IdxDataset):
    """70,000 pictures of clothes of 28 x 28 pixels in ten classes, in MNIST's format.

    Originals: the four `*-ubyte.gz` idx files. Pixels in [0, 1]; `standard` normalises with mean 0.2860, std 0.3530.
    """

    name = "fashion-mnist"
    label = "Fashion-MNIST"
    paper = "Xiao et al.: Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms, 2017"
    licence: ClassVar[str] = "MIT"
    published: ClassVar[DatasetFacts] = DatasetFacts((1, 28, 28), 10, 60_000, 10_000, class_names=CLASSES)
    originals: ClassVar[tuple[Original, ...]] = idx_files(
        ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",),
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {"standard": Normalisation((0.2860,), (0.3530,))}
