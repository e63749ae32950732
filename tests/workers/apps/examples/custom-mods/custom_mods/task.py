"""Data and model: logistic regression on the breast cancer data."""

import numpy as np
from sklearn.datasets import load_breast_cancer

FEATURES = 30


def load_data(partition_id: int, num_partitions: int) -> tuple[np.ndarray, np.ndarray]:
    inputs, labels = load_breast_cancer(return_X_y=True)
    inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    return inputs[partition_id::num_partitions], labels[partition_id::num_partitions]


def probabilities(weights: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-inputs @ weights))


def log_loss(weights: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> float:
    chance = np.clip(probabilities(weights, inputs), 1e-12, 1 - 1e-12)
    return float(-np.mean(labels * np.log(chance) + (1 - labels) * np.log(1 - chance)))
