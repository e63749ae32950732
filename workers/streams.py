"""Stateless randomness: every draw comes from a stream keyed (seed, purpose, client, round).

Nothing has to be saved to resume, a further draw in one place changes nothing elsewhere, and it does not matter in
which order or in which stack clients are computed. Streams are Philox counters: a key costs microseconds, no hashing.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

Purpose = Literal[
    "partition", "noise", "hybrid", "split", "init", "sampling", "batches", "dropout", "faults", "strategy", "data"
]
PURPOSES: dict[str, int] = {name: number for number, name in enumerate(get_args(Purpose))}
MOST_PURPOSES = 64  # fixed, so that a new purpose leaves every existing stream as it was
WHOLE_FEDERATION = 2**32 - 1


def stream(seed: int, purpose: Purpose, *, client: int | None = None, round: int = 0) -> np.random.Generator:  # noqa: A002
    """The generator of that key; `client=None` is the stream of the federation as a whole."""
    owner = WHOLE_FEDERATION if client is None else client
    return np.random.Generator(np.random.Philox(key=[seed * MOST_PURPOSES + PURPOSES[purpose], owner << 32 | round]))
