from __future__ import annotations

from typing import ClassVar

from workers.component import DatasetFacts, Normalisation
from workers.datasets._idx import IdxDataset


class Mnist(IdxDataset):
    """70,000 handwritten digits of 28 x 28 pixels: 60,000 to train, 10,000 to test.

    Originals: the four `*-ubyte.gz` idx files. Pixels in [0, 1]; `standard` normalises with mean 0.1307, std 0.3081.
    """

    name = "mnist"
    label = "MNIST"
    paper = "LeCun et al.: Gradient-Based Learning Applied to Document Recognition, Proceedings of the IEEE, 1998"
    licence: ClassVar[str] = "none stated"
    published: ClassVar[DatasetFacts] = DatasetFacts((1, 28, 28), 10, 60_000, 10_000, class_names=tuple("0123456789"))
    normalisations: ClassVar[dict[str, Normalisation]] = {"standard": Normalisation((0.1307,), (0.3081,))}
