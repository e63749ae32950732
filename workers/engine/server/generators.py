"""The generators that strategies written for Flower draw from (`random`, `np.random`, torch), keyed like any stream.

Flower's privacy wrappers take their noise from `np.random`, its sampling takes `random`. Seeded for each round, a run
that is repeated or resumed draws the same, and what the process draws elsewhere stays as it was.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from workers.streams import stream

BUILDING, CONFIGURING, AGGREGATING = range(3)
"""What a server does in a round (it is built in round 0); each has seeds of its own."""


@contextmanager
def keyed_generators(seed: int, number: int, step: int) -> Iterator[None]:
    seeds = stream(seed, "strategy", round=number).integers(2**32, size=(3, 3))[step]
    before = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(int(seeds[0]))
        np.random.seed(int(seeds[1]))
        torch.default_generator.manual_seed(int(seeds[2]))
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
