"""Tiny specs that run in milliseconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from workers.engine.records import Result


def tiny(**changes: Any) -> dict[str, Any]:
    """Sixty samples of four values in three classes, five clients of unequal size."""
    return {
        "dataset": {"name": "blobs", "shape": [4], "classes": 3, "train": 60, "test": 12},
        "model": {"name": "logistic"},
        "partition": {"name": "quantity-dirichlet", "beta": 1.0, "min_size": 2},
        "strategy": {"name": "fedavg"},
        "clients": 5,
        "cohort": 3,
        "rounds": 3,
        "local": {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.1}},
        "engine": "cohort",
        "precision": "float64",
        **changes,
    }


def distance(one: Result, other: Result) -> float:
    assert list(one.parameters) == list(other.parameters)
    return max(float(np.abs(one.parameters[name] - other.parameters[name]).max()) for name in one.parameters)


def curve(result: Result, metric: str) -> list[float]:
    return [record.metrics[metric] for record in result.history if metric in record.metrics]


def untimed(result: Result) -> list[dict[str, float]]:
    """Every record's metrics without the clock's."""
    return [
        {name: value for name, value in record.metrics.items() if not name.startswith("seconds")}
        for record in result.history
    ]
