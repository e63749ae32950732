"""Stateless randomness: every draw comes from a stream keyed (seed, purpose, client, round).

Nothing has to be saved to resume, a further draw in one place changes nothing elsewhere, and it does not matter in
which order or in which stack clients are computed. Streams are Philox counters: a key costs microseconds, no hashing.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

Purpose = Literal[
    "partition",
    "noise",
    "hybrid",
    "split",
    "init",
    "sampling",
    "batches",
    "dropout",
    "faults",
    "strategy",
    "data",
    "app",
    "attack",
    "augment",
    "compression",
    "privacy",
]
PURPOSES: dict[str, int] = {name: number for number, name in enumerate(get_args(Purpose))}
MOST_PURPOSES = 64  # fixed, so that a new purpose leaves every existing stream as it was
WHOLE_FEDERATION = 2**32 - 1


def stream(seed: int, purpose: Purpose, *, client: int | None = None, round: int = 0) -> np.random.Generator:  # noqa: A002
    """The generator of that key; `client=None` is the stream of the federation as a whole."""
    owner = WHOLE_FEDERATION if client is None else client
    # as a plain list a number beyond int64 would turn the key into floats, which lose the round
    key = np.array([seed * MOST_PURPOSES + PURPOSES[purpose], owner << 32 | round], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def scramble(values: np.ndarray) -> np.ndarray:
    """The finishing step of SplitMix64: every bit of the input moves every bit of the output."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: np.ndarray = values ^ (values >> np.uint64(31))
    return result


def client_keys(seed: int, purpose: Purpose, clients: np.ndarray, round: int) -> np.ndarray:  # noqa: A002
    """A 64-bit key per client: the same streams' idea for draws that are made for many clients at once."""
    base = scramble(np.array([seed * MOST_PURPOSES + PURPOSES[purpose]], dtype=np.uint64) + GOLDEN_GAMMA)
    return scramble(base ^ (clients.astype(np.uint64) << np.uint64(32) | np.uint64(round)))


def keyed_draws(keys: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """SplitMix64's output number `counter` of the generator that starts at `key` (they broadcast)."""
    return scramble(keys + (counters.astype(np.uint64) + np.uint64(1)) * GOLDEN_GAMMA)


def keyed_uniforms(keys: np.ndarray, counters: np.ndarray) -> np.ndarray:
    """The same as numbers in [0, 1) with 53 bits."""
    return (keyed_draws(keys, counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53
