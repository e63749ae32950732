from __future__ import annotations

from typing import ClassVar

from workers.component import Arrays, DatasetFacts, Normalisation
from workers.datasets._cifar import SHAPE, read_batches
from workers.datasets._fetch import Original
from workers.datasets._imported import ImportedDataset, Report
from workers.datasets._originals import Originals

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


class Cifar10(ImportedDataset):
    """60,000 colour pictures of 32 x 32 pixels in ten classes: 50,000 to train, 10,000 to test.

    Originals: the binary version (`data_batch_1.bin`, ...) or the python version (`data_batch_1`, ...), unpacked or
    not. Pixels in [0, 1]; `mazarakis-2023` normalises with that study's constants.
    """

    name = "cifar10"
    label = "CIFAR-10"
    paper = "Krizhevsky: Learning Multiple Layers of Features from Tiny Images, 2009"
    licence: ClassVar[str] = "none stated"
    published: ClassVar[DatasetFacts] = DatasetFacts(SHAPE, 10, 50_000, 10_000, class_names=CLASSES)
    originals: ClassVar[tuple[Original, ...]] = (
        Original(
            "cifar-10-python.tar.gz",
            ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
            "md5:c58f30108f718f92721af3b95e74349a",
        ),
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {
        "mazarakis-2023": Normalisation((0.507, 0.486, 0.440), (0.267, 0.256, 0.276))
    }

    def read(self, originals: Originals, report: Report) -> Arrays:
        batches = [f"data_batch_{number}" for number in range(1, 6)]
        train = read_batches(originals, batches, "labels", 1, report)
        return Arrays(*train, *read_batches(originals, ["test_batch"], "labels", 1, report))
