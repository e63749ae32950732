"""Arrays of numbers as PostgreSQL sends them, decoded together: a million values are a few steps of numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

HEADER = 5
"""Words before the elements: the second tells of nulls, the fourth is the length, the fifth the first subscript."""
PRESENT, PRESENT_WORDS, NULL_WORDS = 8, 3, 1
"""An element is its length in bytes and itself, or -1 for null."""


class StoredNumbers(NamedTuple):
    """A row for each number that is there: the place of its array among those given, its subscript, and the number."""

    arrays: np.ndarray
    rounds: np.ndarray
    values: np.ndarray


def decode_numbers(packed: bytes, sizes: np.ndarray) -> StoredNumbers:
    """Of arrays of float8 by `array_send`, one after the other, of so many bytes each; in that order."""
    words = np.frombuffer(packed, ">u4")
    ends = np.cumsum(sizes.astype(np.int64)) // 4
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)[: len(ends)]
    lengths, first_rounds = words[starts + 3].astype(np.int64), words[starts + 4].astype(np.int64)
    last_slots = np.cumsum(lengths)
    arrays = np.repeat(np.arange(len(starts)), lengths)
    rounds = np.arange(len(arrays)) + np.repeat(first_rounds - last_slots + lengths, lengths)
    some_null = np.flatnonzero(words[starts + 1])
    if not len(some_null):
        element = np.ones(len(words), bool)
        element[(starts[:, None] + np.arange(HEADER)).ravel()] = False
        halves = words[element].reshape(-1, PRESENT_WORDS)[:, 1:]
        return StoredNumbers(arrays, rounds, np.ascontiguousarray(halves).view(">f8").ravel().astype(np.float64))
    places = np.arange(len(arrays)) - np.repeat(last_slots - lengths, lengths)
    positions = starts[arrays] + HEADER + PRESENT_WORDS * places
    positions_after_nulls(words, starts[some_null], last_slots[some_null], lengths[some_null], positions)
    here = words[positions] == PRESENT
    halves = words[positions[here, None] + np.array([1, 2])]
    return StoredNumbers(arrays[here], rounds[here], halves.view(">f8").ravel().astype(np.float64))


def positions_after_nulls(
    words: np.ndarray, starts: np.ndarray, last_slots: np.ndarray, lengths: np.ndarray, positions: np.ndarray
) -> None:
    """An element's place follows from the nulls before it: all arrays with some are walked through at once."""
    at, slots = starts + HEADER, last_slots - lengths
    while len(slots):
        positions[slots] = at
        at = at + np.where(words[at] == PRESENT, PRESENT_WORDS, NULL_WORDS)
        slots = slots + 1
        going = slots < last_slots
        at, slots, last_slots = at[going], slots[going], last_slots[going]
