"""The global generators that apps draw from, seeded from the run's stateless streams."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from workers.streams import stream

SERVER = None
HIGHEST_SEED = 2**32


def seed_generators(seed: int, *, node: int | None, message: int = 0) -> None:
    """For the server (`node` None), or for a client's message: the first, second, ... that it gets."""
    number = int(stream(seed, "app", client=node, round=message).integers(HIGHEST_SEED))
    random.seed(number)
    np.random.seed(number)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(number)
    if tensorflow := sys.modules.get("tensorflow"):
        tensorflow.random.set_seed(number)


@contextmanager
def generators_of_client(seed: int, *, node: int, message: int) -> Iterator[None]:
    """Seeded for that message; afterwards the server draws on as if nobody had drawn in between."""
    before = generator_states()
    seed_generators(seed, node=node, message=message)
    try:
        yield
    finally:
        restore_generators(before)


def generator_states() -> dict[str, Any]:
    states: dict[str, Any] = {"random": random.getstate(), "numpy": np.random.get_state()}
    if torch := sys.modules.get("torch"):
        states["torch"] = torch.random.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def restore_generators(states: dict[str, Any]) -> None:
    random.setstate(states["random"])
    np.random.set_state(states["numpy"])
    torch: Any = sys.modules.get("torch")
    if "torch" in states:
        torch.random.set_rng_state(states["torch"])
    if "cuda" in states:
        torch.cuda.set_rng_state_all(states["cuda"])
