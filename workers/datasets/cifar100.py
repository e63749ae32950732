from __future__ import annotations

from typing import ClassVar

from workers.component import Arrays, DatasetFacts, Normalisation
from workers.datasets._cifar import SHAPE, read_batches
from workers.datasets._fetch import Original
from workers.datasets._imported import ImportedDataset, Report
from workers.datasets._originals import Originals


class Cifar100(ImportedDataset):
    """60,000 colour pictures of 32 x 32 pixels in 100 (fine) classes: 50,000 to train, 10,000 to test.

    Originals: the binary version (`train.bin`, `test.bin`) or the python version (`train`, `test`), unpacked or not.
    Normalised with Mazarakis 2023's constants by default; `none` leaves pixels in [0, 1].
    """

    name = "cifar100"
    label = "CIFAR-100"
    paper = "Krizhevsky: Learning Multiple Layers of Features from Tiny Images, 2009"
    licence: ClassVar[str] = "none stated"
    published: ClassVar[DatasetFacts] = DatasetFacts(SHAPE, 100, 50_000, 10_000)
    originals: ClassVar[tuple[Original, ...]] = (
        Original(
            "cifar-100-python.tar.gz",
            ("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",),
            "md5:eb9058c3a382ffc7106e4002c42a8d85",
        ),
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {
        "default": Normalisation((0.507, 0.486, 0.440), (0.267, 0.256, 0.276))
    }

    def read(self, originals: Originals, report: Report) -> Arrays:
        train = read_batches(originals, ["train"], "fine_labels", 2, report)
        return Arrays(*train, *read_batches(originals, ["test"], "fine_labels", 2, report))
