"""What an import would store, found out by reading everything once; and how to make it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workers.catalog.component import Arrays
from workers.data_import.options import ImportOptions
from workers.datasets._fetch import Report
from workers.errors import DatasetError
from workers.spec.runspec import rounded_share
from workers.streams import stream

MOST_SHOWN = 50
"""Classes of a preview that are listed one by one."""
EXAMPLES = 5


@dataclass(frozen=True)
class ColumnPreview:
    """`role`: target, client, split, number, category, picture, left out, or refused."""

    name: str
    type: str
    role: str
    features: int
    missing: int
    values: int | None
    """How many different ones, where they were counted."""
    examples: tuple[str, ...]


@dataclass(frozen=True)
class ClassCount:
    name: str
    rows: int


@dataclass(frozen=True)
class Preview:
    """With problems nothing can be imported; each says what to do."""

    name: str
    kind: str
    rows: int
    train: int
    test: int
    shape: tuple[int, ...]
    bytes: int
    classes: int
    class_counts: tuple[ClassCount, ...]
    """In the order of the labels; of many classes the first."""
    clients: int | None
    columns: tuple[ColumnPreview, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """For a terminal."""
        yield f"{self.name}: {self.kind}, {self.rows:,} rows, {self.train:,} to train and {self.test:,} to test"
        for column in self.columns:
            examples = ", ".join(column.examples)
            missing = f", {column.missing:,} missing" if column.missing else ""
            yield f"  {column.name:<24} {column.type:<12} {column.role:<9}{missing} {examples}".rstrip()
        if self.classes:
            counts = ", ".join(f"{each.name}: {each.rows:,}" for each in self.class_counts)
            yield f"Classes: {self.classes:,} ({counts})"
        if self.clients is not None:
            yield f"Natural clients: {self.clients:,}"
        if self.shape:
            yield f"A sample: {' x '.join(map(str, self.shape))}; {self.bytes:,} bytes in all"
        yield from (f"Note: {note}" for note in self.notes)
        yield from (f"Problem: {problem}" for problem in self.problems)


@dataclass(frozen=True)
class Plan:
    preview: Preview
    class_names: tuple[str, ...]
    make: Callable[[Report], tuple[Arrays, list[dict[str, Any]]]]
    """The arrays, and what each column became."""


@dataclass(frozen=True)
class Division:
    """Which rows are the test set, and at which place of its part each row comes to lie."""

    test: np.ndarray
    position: np.ndarray

    @classmethod
    def of(cls, test: np.ndarray) -> Division:
        position = np.where(test, np.cumsum(test), np.cumsum(~test)) - 1
        return cls(test, position)


def draw_test_rows(rows: int, clients: np.ndarray | None, share: float, seed: int) -> np.ndarray:
    """A mask. With clients, that share of the rows of each of them, rounded down: all of them keep something to train.

    Client number c, in the order of the natural clients, draws from its own stream.
    """
    test = np.zeros(rows, bool)
    if clients is None:
        test[stream(seed, "data").permutation(rows)[: rounded_share(share, rows)]] = True
        return test
    by_client = np.argsort(clients, kind="stable")
    bounds = np.searchsorted(clients[by_client], np.arange(clients.max() + 2))
    for client in range(len(bounds) - 1):
        own = by_client[bounds[client] : bounds[client + 1]]
        order = stream(seed, "data", client=client).permutation(len(own))
        test[own[order[: rounded_share(share, len(own))]]] = True
    return test


def class_problems(place: str, counts: Mapping[str, int]) -> Iterator[str]:
    present = [name for name, count in counts.items() if count]
    if len(present) == 1:
        yield f"{place} has only one class, {present[0]!r}: there is nothing to tell apart."


def stored_bytes(rows: int, shape: tuple[int, ...], width: int) -> int:
    return rows * (math.prod(shape) * width + 8)


def set_name(options: ImportOptions, path: Path) -> str:
    """What was asked for, or else what the file or folder is called."""
    name = options.name or re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:60].strip("-")
    if not name:
        raise DatasetError(f"{path.name} makes no name for a data set: give one of small letters and digits.")
    return name


def first_of(counts: Mapping[str, int], most: int = MOST_SHOWN) -> tuple[ClassCount, ...]:
    return tuple(ClassCount(name, rows) for name, rows in list(counts.items())[:most])


def quoted(names: Sequence[str], most: int = 20) -> str:
    listed = ", ".join(names[:most])
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed
