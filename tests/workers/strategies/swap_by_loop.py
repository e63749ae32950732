"""Swapping with plain loops, no engine, float64; who swaps with whom is left to the caller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.workers.strategies.test_clients_by_loop import Reference

Model = list[np.ndarray]
Pairing = Callable[[int, list[Model], Model], list[tuple[int, int]]]


def run_with_swaps(reference: Reference, rounds: int, h1: int, h2: int, pairing: Pairing) -> list[Model]:
    """What is evaluated after each round; the reference's model is the last average."""
    own = [reference.model] * 5
    evaluated_models: list[Model] = []
    for step in range(rounds):
        own = [reference.descend(client, own[client]) for client in range(5)]
        if step % (h1 * h2) == 0:
            reference.model = reference.mean(own)
            own = [reference.model] * 5
        elif step % h1 == 0:
            for one, other in pairing(step + 1, own, reference.model):
                own[one], own[other] = own[other], own[one]
        evaluated_models.append(reference.mean(own))
    return evaluated_models


def loss_on_test_set(reference: Reference, model: Model) -> float:
    x, y = reference.federation.test_x.astype(np.float64), reference.federation.test_y
    scores = x @ model[0].T + model[1]
    return float(np.mean(np.log(np.exp(scores).sum(1)) - scores[np.arange(len(y)), y]))
