"""Data and model: softmax regression on the iris data."""

import numpy as np
from sklearn.datasets import load_iris

CLASSES, FEATURES = 3, 4


def load_data(partition_id: int, num_partitions: int) -> tuple[np.ndarray, np.ndarray]:
    inputs, labels = load_iris(return_X_y=True)
    inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    return inputs[partition_id::num_partitions], labels[partition_id::num_partitions]


def initial_parameters() -> list[np.ndarray]:
    return [np.zeros((FEATURES, CLASSES)), np.zeros(CLASSES)]


def predict(parameters: list[np.ndarray], inputs: np.ndarray) -> np.ndarray:
    scores = inputs @ parameters[0] + parameters[1]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def fit(parameters: list[np.ndarray], inputs: np.ndarray, labels: np.ndarray, rate: float, epochs: int) -> list:
    weights, bias = parameters
    for _ in range(epochs):
        error = predict([weights, bias], inputs) - np.eye(CLASSES)[labels]
        weights = weights - rate * inputs.T @ error / len(labels)
        bias = bias - rate * error.mean(axis=0)
    return [weights, bias]


def test(parameters: list[np.ndarray], inputs: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    chances = predict(parameters, inputs)
    loss = -np.mean(np.log(chances[np.arange(len(labels)), labels]))
    return float(loss), float(np.mean(chances.argmax(axis=1) == labels))
