from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

from workers.catalog.component import Arrays, DatasetFacts, DatasetParameters, Normalisation
from workers.datasets import _cache
from workers.datasets._imported import ImportedDataset, Report
from workers.datasets._originals import Originals

CLASSES = tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase)
DIGITS = 10
DIGITS_CACHE = "femnist-digits"


class FemnistParameters(DatasetParameters):
    subset: Literal["all", "digits"] = "all"
    """all: 62 classes (digits, capitals, small letters). digits: the ten digits only."""


class Femnist(ImportedDataset):
    """Handwritten characters of 28 x 28 pixels by 3,597 writers, who are the natural clients.

    A tenth of every writer's samples, drawn once and for all, is the test set (LEAF's own split where both its `train`
    and `test` folders are there); a federation of some writers is tested on theirs. Originals: LEAF json files, or HDF5
    (writer -> images, labels). Ink is dark on white. Pixels in [0, 1]; `iaisy-2024` normalises with mean 0.5, std 0.5.
    """

    name = "femnist"
    label = "FEMNIST"
    paper = "Caldas et al.: LEAF: A Benchmark for Federated Settings, 2018"
    licence: ClassVar[str] = "BSD-2 (LEAF)"
    Params = FemnistParameters
    published: ClassVar[DatasetFacts] = DatasetFacts((1, 28, 28), 62, 732_849, 81_428, 3_597, CLASSES)
    no_fetch: ClassVar[str] = (
        "LEAF publishes FEMNIST as a program that makes it from NIST's forms, not as files: run that first, or take "
        "an HDF5 file of it."
    )
    normalisations: ClassVar[dict[str, Normalisation]] = {"iaisy-2024": Normalisation((0.5,), (0.5,))}

    def editions(self) -> list[Any]:
        return [self.Params(), self.Params(subset="digits")]

    def cache_name(self, params: Any) -> str:
        return self.name if params.subset == "all" else DIGITS_CACHE

    def facts(self, params: Any) -> DatasetFacts:
        facts = super().facts(params)
        return facts if params.subset == "all" else replace(facts, classes=DIGITS, class_names=CLASSES[:DIGITS])

    def read(self, originals: Originals, report: Report) -> Arrays:
        return next(arrays for _, arrays in self.parts(originals, report))

    def parts(self, originals: Originals, report: Report) -> Iterator[tuple[str, Arrays]]:
        """Digits come from whichever originals have more writers: those of digits only, or all 62 classes."""
        from workers.datasets._femnist import collections, only_digits

        for arrays in collections(originals, report):
            if arrays.train_y.max() >= DIGITS:
                yield self.name, arrays
            digits = only_digits(arrays)
            known = _cache.manifest_of(DIGITS_CACHE)
            if not known or writers(digits) >= (known.natural_clients or 0):
                yield DIGITS_CACHE, digits


def writers(arrays: Arrays) -> int:
    return len(set(arrays.client.tolist())) if arrays.client is not None else 0
