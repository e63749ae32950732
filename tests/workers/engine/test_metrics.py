from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from workers.engine.evaluation import Scores, fairness_metrics, mean_over_clients, metrics_of


def scores(truth: list[int], predictions: list[int]) -> Scores:
    return Scores(np.array(truth), np.array(predictions), np.arange(len(truth), dtype=float))


def test_metrics_by_hand() -> None:
    """Class a: 2 of 3 found, one false alarm from b. Class b: 1 of 2. Class c occurs nowhere."""
    metrics = metrics_of(scores([0, 0, 0, 1, 1], [0, 0, 1, 1, 0]), ["a", "b", "c"])

    assert metrics == {
        "accuracy": 0.6,
        "loss": 2.0,
        "f1": pytest.approx((2 / 3 + 1 / 2) / 2),
        "recall.a": pytest.approx(2 / 3),
        "recall.b": 0.5,
    }


def test_macro_f1_is_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    truth, predictions = rng.integers(0, 6, 200), rng.integers(0, 6, 200)

    ours = metrics_of(Scores(truth, predictions, np.zeros(200)), list("abcdef"))["f1"]

    assert ours == pytest.approx(f1_score(truth, predictions, average="macro"))


def test_fairness_over_twenty_clients() -> None:
    """Accuracies 0.00, 0.05, ..., 0.95: the worst tenth are the two lowest."""
    clients = {client: {"accuracy": client / 20} for client in range(20)}

    metrics = fairness_metrics(clients)

    assert metrics["client_accuracy_mean"] == pytest.approx(0.475)
    assert metrics["client_accuracy_std"] == pytest.approx(((20**2 - 1) / 12) ** 0.5 / 20)
    assert metrics["client_accuracy_worst10"] == pytest.approx(0.025)


def test_a_single_client_is_its_own_worst_tenth() -> None:
    assert fairness_metrics({7: {"accuracy": 0.25}})["client_accuracy_worst10"] == 0.25


def test_losses_that_are_not_finite_are_kept() -> None:
    diverged = Scores(np.array([0, 1]), np.array([0, 0]), np.array([1.0, np.inf]))

    assert diverged.loss == float("inf")
    assert diverged.accuracy == 0.5


def test_means_are_per_metric() -> None:
    assert mean_over_clients([{"a": 1.0, "b": 0.0}, {"a": 2.0, "b": 1.0}]) == {"a": 1.5, "b": 0.5}


def test_a_confusion_matrix_has_a_row_for_each_true_class() -> None:
    scores = Scores(np.array([0, 0, 0, 1, 2, 2]), np.array([0, 2, 2, 1, 0, 2]), np.zeros(6))
    assert scores.confusion(4).tolist() == [[1, 0, 2, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
