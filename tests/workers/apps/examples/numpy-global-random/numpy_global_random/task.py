"""Data and model: linear regression on scikit-learn's diabetes data, with mini-batches."""

import numpy as np
from sklearn.datasets import load_diabetes


def load_data(partition_id: int, num_partitions: int) -> tuple[np.ndarray, np.ndarray]:
    inputs, targets = load_diabetes(return_X_y=True)
    inputs, targets = inputs * 20, (targets - 150) / 80
    return inputs[partition_id::num_partitions], targets[partition_id::num_partitions]


def initial_weights() -> list[np.ndarray]:
    return [np.random.normal(scale=0.1, size=10), np.zeros(1)]


def run_epoch(weights: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray, rate: float, size: int) -> float:
    """Changes the weights in place, in the order that NumPy's global generator gives."""
    slope, bias = weights
    losses = []
    for batch in np.array_split(np.random.permutation(len(targets)), max(1, len(targets) // size)):
        error = inputs[batch] @ slope + bias - targets[batch]
        slope -= rate * inputs[batch].T @ error / len(batch)
        bias -= rate * error.mean()
        losses.append(float(np.mean(error**2)))
    return float(np.mean(losses))
