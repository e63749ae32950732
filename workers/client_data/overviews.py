"""A data set at a glance: how many samples each class has, and some pictures of them. Made once for each content."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from workers.catalog.component import Arrays, Dataset
from workers.client_data import store
from workers.client_data.pictures import as_pixels, encode_png, picture_grid
from workers.spec.identity import canonical_digest

OVERVIEW_FORMAT = 1
CLASS_COLUMNS, CLASS_ROWS = 12, 3
"""Pictures in a row, and rows at most."""


@dataclass(frozen=True)
class DatasetOverview:
    counts: tuple[int, ...]
    """Training samples of each class."""
    pictures: bool


def overview_key(dataset: Dataset, params: Any) -> str:
    values = params.model_dump(mode="json", exclude={"normalise"})
    return canonical_digest([OVERVIEW_FORMAT, values, dataset.checksum(params), dataset.stamp])


def read_overview(key: str) -> DatasetOverview | None:
    try:
        data = json.loads((store.store_folder() / f"{key}.json").read_text())
        return DatasetOverview(tuple(data["counts"]), data["pictures"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


def make_overview(dataset: Dataset, params: Any) -> DatasetOverview:
    arrays, facts = dataset.load(params), dataset.facts(params)
    counts = np.bincount(arrays.train_y, minlength=facts.classes)
    overview = DatasetOverview(tuple(counts.tolist()), facts.is_image)
    key = overview_key(dataset, params)
    if overview.pictures:
        store.write_stored_file(f"{key}.png", class_pictures(arrays, np.flatnonzero(counts)))
    store.write_stored_file(f"{key}.json", json.dumps(asdict(overview)).encode())
    return overview


def class_pictures(arrays: Arrays, classes: np.ndarray) -> bytes:
    """The first samples of each class, side by side; of many classes some at even distances."""
    columns = min(CLASS_COLUMNS, len(classes))
    slots = np.arange(
        columns * (CLASS_ROWS if len(classes) <= CLASS_COLUMNS else min(CLASS_ROWS, -(-len(classes) // columns)))
    )
    if len(classes) > len(slots):
        classes = classes[np.linspace(0, len(classes) - 1, len(slots)).astype(int)]
    turns = [divmod(int(slot), len(classes)) for slot in slots]
    indices = [nth_sample_of_class(arrays.train_y, int(classes[place]), turn) for turn, place in turns]
    return encode_png(picture_grid(as_pixels(np.stack([arrays.train_x[index] for index in indices])), columns))


def nth_sample_of_class(labels: np.ndarray, label: int, turn: int) -> int:
    indices = np.flatnonzero(labels == label)
    return int(indices[turn % len(indices)])
