from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

WORD = pa.dictionary(pa.int32(), pa.string())
"""All text is a dictionary: what repeats is kept, quoted and made harmless once."""


@dataclass(frozen=True)
class Table:
    """An Arrow schema and its record batches, which are read while they are taken."""

    schema: Any
    batches: Iterator[Any]


def words(values: Sequence[str | None]) -> Any:
    return pa.array(values, pa.string()).dictionary_encode()
