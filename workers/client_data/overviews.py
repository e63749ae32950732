"""A data set at a glance: how many samples each class has, and some pictures of them. Made once for each content."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from workers.catalog.component import Arrays, Dataset
from workers.client_data import store
from workers.client_data.pictures import ACROSS, DOWN, as_pixels, png, sprite
from workers.spec.identity import digest

FORMAT = 1


@dataclass(frozen=True)
class Look:
    counts: tuple[int, ...]
    """Training samples of each class."""
    pictures: bool


def look_key(dataset: Dataset, params: Any) -> str:
    chosen = params.model_dump(mode="json", exclude={"normalise"})
    return digest([FORMAT, chosen, dataset.checksum(params), dataset.stamp])


def kept_look(key: str) -> Look | None:
    try:
        data = json.loads((store.folder() / f"{key}.json").read_text())
        return Look(tuple(data["counts"]), data["pictures"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


def make_look(dataset: Dataset, params: Any) -> Look:
    arrays, facts = dataset.load(params), dataset.facts(params)
    counts = np.bincount(arrays.train_y, minlength=facts.classes)
    look = Look(tuple(counts.tolist()), facts.is_image)
    key = look_key(dataset, params)
    if look.pictures:
        store.keep(f"{key}.png", class_pictures(arrays, np.flatnonzero(counts)))
    store.keep(f"{key}.json", json.dumps(asdict(look)).encode())
    return look


def class_pictures(arrays: Arrays, classes: np.ndarray) -> bytes:
    """The first samples of each class, side by side; of many classes some at even distances."""
    across = min(ACROSS, len(classes))
    slots = np.arange(across * (DOWN if len(classes) <= ACROSS else min(DOWN, -(-len(classes) // across))))
    if len(classes) > len(slots):
        classes = classes[np.linspace(0, len(classes) - 1, len(slots)).astype(int)]
    turns = [divmod(int(slot), len(classes)) for slot in slots]
    places = [nth_of(arrays.train_y, int(classes[place]), turn) for turn, place in turns]
    return png(sprite(as_pixels(np.stack([arrays.train_x[place] for place in places])), across))


def nth_of(labels: np.ndarray, label: int, turn: int) -> int:
    found = np.flatnonzero(labels == label)
    return int(found[turn % len(found)])
