"""Data and model: linear regression on the diabetes data."""

import numpy as np
from sklearn.datasets import load_diabetes

FEATURES = 10


def load_data(partition_id: int, num_partitions: int) -> tuple[np.ndarray, np.ndarray]:
    inputs, targets = load_diabetes(return_X_y=True)
    return inputs[partition_id::num_partitions] * 20, (targets[partition_id::num_partitions] - 150) / 80


def descend(weights: np.ndarray, inputs: np.ndarray, targets: np.ndarray, rate: float, steps: int) -> np.ndarray:
    for _ in range(steps):
        weights = weights - rate * inputs.T @ (inputs @ weights - targets) / len(targets)
    return weights


def squared_error(weights: np.ndarray, inputs: np.ndarray, targets: np.ndarray) -> float:
    return float(np.mean((inputs @ weights - targets) ** 2))
