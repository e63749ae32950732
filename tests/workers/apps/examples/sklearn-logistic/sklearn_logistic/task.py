"""Data, model, and the model's parameters as arrays."""

import numpy as np
from flwr.app import UserConfig
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

CLASSES, FEATURES = 3, 13


def load_data(partition_id: int, num_partitions: int, scale: bool) -> tuple[np.ndarray, ...]:
    """Four of five examples of the client are for training: X and y of these, then X and y of the others."""
    inputs, labels = load_wine(return_X_y=True)
    if scale:
        inputs = StandardScaler().fit_transform(inputs)
    inputs, labels = inputs[partition_id::num_partitions], labels[partition_id::num_partitions]
    is_test = np.arange(len(labels)) % 5 == 0
    return inputs[~is_test], labels[~is_test], inputs[is_test], labels[is_test]


def create_model(config: UserConfig) -> LogisticRegression:
    model = LogisticRegression(
        C=config["regularization"], max_iter=config["max-iter"], solver=config["solver"], warm_start=True
    )
    set_parameters(model, [np.zeros((CLASSES, FEATURES)), np.zeros(CLASSES)])
    return model


def get_parameters(model: LogisticRegression) -> list[np.ndarray]:
    return [model.coef_, model.intercept_]


def set_parameters(model: LogisticRegression, parameters: list[np.ndarray]) -> None:
    model.classes_ = np.arange(CLASSES)
    model.coef_, model.intercept_ = parameters
