"""A table whose columns are different numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.charts.values import Standing

MOST_OPEN = 24


@dataclass(frozen=True)
class Field:
    text: str
    standing: Standing = ""
    note: str = ""


def bare(words: Sequence[str], heads: Sequence[str]) -> tuple[str, ...]:
    """Without what their column's head says already: 0.4 below "hybrid ratio"."""
    return tuple(word.removeprefix(f"{head} ") for word, head in zip(words, heads, strict=True))


@dataclass(frozen=True)
class DisplayTable:
    """`heads` are the words that begin each row, `columns` the numbers' names; `caption` says what they are."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Field, ...]], ...]
    caption: str = ""
    detail: bool = False
    """Of interest to few."""

    @property
    def long(self) -> bool:
        """Better folded away at first."""
        return self.detail or len(self.rows) > MOST_OPEN
