"""Clustering and its training as plain loops in float64: an independent twin of the strategies that group clients."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.workers.engine.tiny import tiny
from tests.workers.strategies.test_clients_by_loop import LR, STEPS
from workers.engine import simulate
from workers.engine.federation import Federation, make_federation
from workers.spec import parse_run

Model = list[np.ndarray]


def spec_of(strategy: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Nine clients, three for each of three classes; full batches, so that local training is gradient descent."""
    local = {"epochs": STEPS, "batch_size": 10_000, "optimizer": {"name": "sgd", "lr": LR}}
    partition = {"name": "classes-per-client", "k": 1}
    dataset = {"name": "blobs", "shape": [4], "classes": 3, "train": 90, "test": 30}
    strategy = {"probe_epochs": STEPS, **strategy}
    return tiny(
        **{"dataset": dataset, "strategy": strategy, "partition": partition, "clients": 9, "cohort": None}
        | {"local": local}
        | changes
    )


def federation_of(spec: dict[str, Any]) -> Federation:
    return make_federation(parse_run(spec))


def initial_model(spec: dict[str, Any], prefix: str) -> Model:
    """What a run starts from: one round whose steps are too small to change anything."""
    local = {**spec["local"], "optimizer": {"name": "sgd", "lr": 1e-300}}
    parameters = simulate({**spec, "rounds": 1, "local": local}).parameters
    return [parameters[f"{prefix}1.weight"].copy(), parameters[f"{prefix}1.bias"].copy()]


def gradient(x: np.ndarray, y: np.ndarray, model: Model) -> Model:
    weight, bias = np.zeros_like(model[0]), np.zeros_like(model[1])
    for sample, label in zip(x.astype(np.float64), y, strict=True):
        scores = model[0] @ sample + model[1]
        error = np.exp(scores) / np.exp(scores).sum()
        error[label] -= 1
        weight += np.outer(error, sample) / len(y)
        bias += error / len(y)
    return [weight, bias]


def train(x: np.ndarray, y: np.ndarray, model: Model) -> Model:
    for _ in range(STEPS):
        model = [value - LR * slope for value, slope in zip(model, gradient(x, y, model), strict=True)]
    return model


def weighted_mean(models: list[Model], sizes: list[int]) -> Model:
    total = sum(sizes)
    return [sum(size / total * model[at] for size, model in zip(sizes, models, strict=True)) for at in range(2)]  # type: ignore[misc]


def tree_edges(models: list[Model]) -> list[float]:
    """Prim's algorithm: from the first client always the shortest edge to one that is not yet reached."""
    flat = [np.concatenate([value.ravel() for value in model]) for model in models]
    reached, edges = {0}, []
    while len(reached) < len(flat):
        length, nearest = min(
            (float(np.linalg.norm(flat[here] - flat[there])), there)
            for here in reached
            for there in range(len(flat))
            if there not in reached
        )
        edges.append(length)
        reached.add(nearest)
    return sorted(edges, reverse=True)
