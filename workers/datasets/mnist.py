"""MNIST and Fashion-MNIST: the same layout, other pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

from workers.catalog.component import Arrays, DatasetFacts, DatasetParameters, Normalisation
from workers.datasets._enlarge import enlarge_pictures
from workers.datasets._fetch import Original
from workers.datasets._idx import IdxDataset, idx_files

SIDE = 28


class MnistParameters(DatasetParameters):
    side: Literal[28, 32] = 28
    """Pixels on a side: 28 as published, or enlarged to 32 for networks that halve the picture five times."""


class Mnist(IdxDataset):
    """70,000 handwritten digits of 28 x 28 pixels: 60,000 to train, 10,000 to test.

    Originals: the four `*-ubyte.gz` idx files. Pixels in [0, 1]; `standard` normalises with mean 0.1307, std 0.3081.
    With `side` 32 they are enlarged by bilinear interpolation.
    """

    name = "mnist"
    Params = MnistParameters
    label = "MNIST"
    paper = "LeCun et al.: Gradient-Based Learning Applied to Document Recognition, Proceedings of the IEEE, 1998"
    licence: ClassVar[str] = "none stated"
    published: ClassVar[DatasetFacts] = DatasetFacts((1, 28, 28), 10, 60_000, 10_000, class_names=tuple("0123456789"))
    originals: ClassVar[tuple[Original, ...]] = idx_files(
        ("https://ossci-datasets.s3.amazonaws.com/mnist", "http://yann.lecun.com/exdb/mnist"),
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {"standard": Normalisation((0.1307,), (0.3081,))}

    def facts(self, params: Any) -> DatasetFacts:
        facts = super().facts(params)
        return facts if params.side == SIDE else replace(facts, shape=(1, params.side, params.side))

    def load(self, params: Any) -> Arrays:
        arrays = super().load(params)
        if params.side == SIDE:
            return arrays
        train, test = (enlarge_pictures(pictures, params.side) for pictures in (arrays.train_x, arrays.test_x))
        return replace(arrays, train_x=train, test_x=test)


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
