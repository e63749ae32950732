from __future__ import annotations

from typing import ClassVar

from workers.component import DatasetFacts, Normalisation
from workers.datasets._idx import IdxDataset

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
    normalisations: ClassVar[dict[str, Normalisation]] = {"standard": Normalisation((0.2860,), (0.3530,))}
