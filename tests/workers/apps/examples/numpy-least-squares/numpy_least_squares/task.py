"""Data and model: y = X w + noise, the same w for all clients, an X of each client's own."""

import numpy as np

FEATURES = 4


def load_data(seed: int, partition_id: int, num_examples: int) -> tuple[np.ndarray, np.ndarray]:
    true_weights = np.random.default_rng(seed).normal(size=FEATURES)
    rng = np.random.default_rng([seed, partition_id])
    inputs = rng.normal(size=(num_examples + 5 * partition_id, FEATURES))
    return inputs, inputs @ true_weights + rng.normal(scale=0.1, size=len(inputs))


def mean_squared_error(weights: np.ndarray, inputs: np.ndarray, targets: np.ndarray) -> float:
    return float(np.mean((inputs @ weights - targets) ** 2))


def descend(weights: np.ndarray, inputs: np.ndarray, targets: np.ndarray, rate: float, steps: int) -> np.ndarray:
    for _ in range(steps):
        weights = weights - rate * 2 * inputs.T @ (inputs @ weights - targets) / len(targets)
    return weights
