"""Data sets as the catalog knows them: facts without loading anything."""

from __future__ import annotations

from dataclasses import dataclass

from workers.catalog import load_catalog
from workers.component import Dataset, DatasetFacts


@dataclass(frozen=True)
class DatasetRow:
    dataset: Dataset
    facts: DatasetFacts
    missing: str | None
    """What to do where it cannot be loaded now."""

    @property
    def shape(self) -> str:
        return " × ".join(str(size) for size in self.facts.shape)


def dataset_rows() -> list[DatasetRow]:
    return [dataset_row(each) for each in load_catalog().datasets.values()]


def dataset_row(dataset: Dataset) -> DatasetRow:
    defaults = dataset.Params(name=dataset.name)
    return DatasetRow(dataset, dataset.facts(defaults), dataset.available(defaults))
