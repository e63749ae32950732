"""Metrics from labels, predictions and losses. Numpy only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Scores:
    """Per sample: true class, predicted class, loss, and whatever else was noted, by name."""

    truth: np.ndarray
    found: np.ndarray
    losses: np.ndarray
    noted: Mapping[str, np.ndarray] = field(default_factory=dict)

    def of(self, chosen: np.ndarray) -> Scores:
        return Scores(self.truth[chosen], self.found[chosen], self.losses[chosen])

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        return cls(
            np.concatenate([part.truth for part in parts]),
            np.concatenate([part.found for part in parts]),
            np.concatenate([part.losses for part in parts]),
        )

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.truth == self.found))

    @property
    def loss(self) -> float:
        return float(np.mean(self.losses))

    def confusion(self, classes: int) -> np.ndarray:
        """How often each true class (row) was taken for each class (column)."""
        return np.bincount(self.truth * classes + self.found, minlength=classes**2).reshape(classes, classes)


def metrics_of(scores: Scores, names: Sequence[str]) -> dict[str, float]:
    """accuracy, loss, macro F1 over the classes that occur (in truth or prediction), recall of each true class."""
    classes = len(names)
    right = np.bincount(scores.truth[scores.truth == scores.found], minlength=classes)
    true, found = np.bincount(scores.truth, minlength=classes), np.bincount(scores.found, minlength=classes)
    occur = true + found > 0
    f1 = 2 * right[occur] / (true + found)[occur]
    recalls = {f"recall.{names[each]}": float(right[each] / true[each]) for each in np.flatnonzero(true).tolist()}
    return {"accuracy": scores.accuracy, "loss": scores.loss, "f1": float(f1.mean()), **recalls}


def means(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([metrics[name] for metrics in each])) for name in each[0]}


def client_metrics(clients: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """Fairness: mean, standard deviation (of this population) and the mean of the worst tenth, at least one client."""
    accuracies = np.sort([values["accuracy"] for values in clients.values()])
    worst = accuracies[: max(1, math.ceil(len(accuracies) / 10))]
    return {
        "client_accuracy_mean": float(accuracies.mean()),
        "client_accuracy_std": float(accuracies.std()),
        "client_accuracy_worst10": float(worst.mean()),
    }
