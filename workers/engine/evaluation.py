"""Evaluation on the server's test set or the clients' held-out parts, every batch over all clients at once; metrics."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.func import functional_call
from torch.nn import functional as F  # noqa: N812

from workers.engine.federation import Federation
from workers.engine.messages.arrays import Tensors
from workers.engine.messages.message_keys import SAMPLES
from workers.engine.server.method import Forward, Outputs
from workers.engine.training.network import Network
from workers.engine.training.trainer import Samples
from workers.spec import RunSpec

OutputFunction = Callable[[Forward, Tensors, torch.Tensor, torch.Tensor], Outputs]
BATCH_VALUES = 2**22
"""Most input values in one evaluated batch."""


@dataclass(frozen=True)
class EvaluationResult:
    """`confusion` counts samples: a row for each true class. Models of several clients add up.

    `noted_means` has the means of what the method noted on each sample.
    """

    metrics: dict[str, float]
    clients: dict[int, dict[str, float]]
    confusion: np.ndarray | None = None
    noted_means: Mapping[str, float] = field(default_factory=dict)


class Evaluator:
    """Evaluates a global model. The module is a copy in evaluation mode: running statistics, no dropout."""

    def __init__(
        self,
        spec: RunSpec,
        network: Network,
        federation: Federation,
        samples: Samples,
        outputs: OutputFunction | None = None,
    ) -> None:
        self.spec, self.samples = spec, samples
        self.module = copy.deepcopy(network.module).eval()
        self.outputs = outputs or plain_outputs
        self.names = spec.dataset_facts.class_names or tuple(map(str, range(spec.dataset_facts.classes)))
        self.everyone = [client.index for client in federation.clients]
        self.held_out = {client.index: client.held_out for client in federation.clients if len(client.held_out)}
        self.test = Samples(
            torch.from_numpy(federation.test_x).to(samples.x), torch.from_numpy(federation.test_y).to(samples.y.device)
        )

    def evaluate(self, model: Tensors, cohort: Sequence[int]) -> EvaluationResult:
        if self.spec.evaluation.on == "server":
            return self.result_of(self.scores(model, self.test.x, self.test.y))
        candidates = cohort if self.spec.evaluation.clients == "cohort" else list(self.held_out)
        return self.evaluate_on_clients(model, [client for client in candidates if client in self.held_out])

    def evaluate_on_clients(self, model: Tensors, clients: Sequence[int]) -> EvaluationResult:
        """One pass over all held-out parts; weighting by size is the same as pooling."""
        if not clients:
            return EvaluationResult({}, {})
        index = np.concatenate([self.held_out[client] for client in clients])
        owners = np.repeat(clients, [len(self.held_out[client]) for client in clients])
        scores = self.scores(model, *self.samples.take(torch.from_numpy(index).to(self.samples.x.device)))
        each = {client: accuracy_and_loss(scores.subset(owners == client)) for client in clients}
        return self.result_of(scores, each)

    def result_of(self, scores: Scores, each: dict[int, dict[str, float]] | None = None) -> EvaluationResult:
        metrics = {**metrics_of(scores, self.names), **(fairness_metrics(each) if each else {})}
        noted_means = {name: float(values.mean()) for name, values in scores.noted_values.items()}
        return EvaluationResult(metrics, each or {}, scores.confusion(len(self.names)), noted_means)

    def evaluate_personal(self, model_of: Callable[[int], Tensors], cohort: Sequence[int]) -> EvaluationResult:
        """Every client with its own model: on its held-out part (pooled), or on the test set (means over clients)."""
        everyone = cohort if self.spec.evaluation.clients == "cohort" else self.everyone
        if self.spec.evaluation.on == "server":
            scores = self.scores_on_test_set({client: model_of(client) for client in everyone})
        else:
            scores = {
                client: self.scores_on_held_out(model_of(client), client)
                for client in everyone
                if client in self.held_out
            }
        if not scores:
            return EvaluationResult({}, {})
        each = {client: accuracy_and_loss(own) for client, own in scores.items()}
        result = self.result_of(Scores.concatenate(list(scores.values())), each)
        if self.spec.evaluation.on == "server":
            result.metrics.update(mean_over_clients([metrics_of(one, self.names) for one in scores.values()]))
        return result

    def scores_on_test_set(self, models: Mapping[int, Tensors]) -> dict[int, Scores]:
        """A model that several clients share is evaluated once."""
        models_by_id = {id(model): model for model in models.values()}
        scores = {key: self.scores(model, self.test.x, self.test.y) for key, model in models_by_id.items()}
        return {client: scores[id(model)] for client, model in models.items()}

    def scores_on_held_out(self, model: Tensors, client: int) -> Scores:
        index = torch.from_numpy(self.held_out[client]).to(self.samples.x.device)
        return self.scores(model, *self.samples.take(index))

    def evaluate_per_client(self, model: Tensors, clients: Sequence[int]) -> dict[int, dict[str, float]]:
        """For Flower's evaluate messages: the clients that hold something out."""
        result = self.evaluate_on_clients(model, [client for client in clients if client in self.held_out])
        return {client: {SAMPLES: len(self.held_out[client]), **values} for client, values in result.clients.items()}

    @torch.no_grad()
    def scores(self, model: Tensors, x: torch.Tensor, y: torch.Tensor) -> Scores:
        size = max(1, BATCH_VALUES // max(1, x[0].numel()))
        losses, predictions, notes = [], [], []
        for first in range(0, len(x), size):
            labels = y[first : first + size]
            outputs = self.outputs(self.forward, model, x[first : first + size], labels)
            losses.append(F.cross_entropy(outputs.logits, labels, reduction="none"))
            predictions.append(outputs.logits.argmax(1))
            notes.append(outputs.noted)
        return Scores(
            y.cpu().numpy(),
            torch.cat(predictions).cpu().numpy(),
            torch.cat(losses).double().cpu().numpy(),
            {name: torch.cat([each[name] for each in notes]).cpu().numpy() for name in (notes[0] if notes else ())},
        )

    def forward(self, model: Tensors, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = functional_call(self.module, model, (x,))
        return logits


def plain_outputs(forward: Forward, model: Tensors, x: torch.Tensor, y: torch.Tensor) -> Outputs:
    return Outputs(forward(model, x))


def accuracy_and_loss(scores: Scores) -> dict[str, float]:
    return {"accuracy": scores.accuracy, "loss": scores.loss}


@dataclass(frozen=True)
class Scores:
    """Per sample: true class, predicted class, loss, and whatever else was noted, by name."""

    truth: np.ndarray
    predictions: np.ndarray
    losses: np.ndarray
    noted_values: Mapping[str, np.ndarray] = field(default_factory=dict)

    def subset(self, mask: np.ndarray) -> Scores:
        return Scores(self.truth[mask], self.predictions[mask], self.losses[mask])

    @classmethod
    def concatenate(cls, parts: Sequence[Scores]) -> Scores:
        return cls(
            np.concatenate([part.truth for part in parts]),
            np.concatenate([part.predictions for part in parts]),
            np.concatenate([part.losses for part in parts]),
        )

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.truth == self.predictions))

    @property
    def loss(self) -> float:
        return float(np.mean(self.losses))

    def confusion(self, classes: int) -> np.ndarray:
        """How often each true class (row) was taken for each class (column)."""
        return np.bincount(self.truth * classes + self.predictions, minlength=classes**2).reshape(classes, classes)


def metrics_of(scores: Scores, names: Sequence[str]) -> dict[str, float]:
    """accuracy, loss, macro F1 over the classes that occur (in truth or prediction), recall of each true class."""
    classes = len(names)
    right = np.bincount(scores.truth[scores.truth == scores.predictions], minlength=classes)
    true, predicted = np.bincount(scores.truth, minlength=classes), np.bincount(scores.predictions, minlength=classes)
    occur = true + predicted > 0
    f1 = 2 * right[occur] / (true + predicted)[occur]
    recalls = {f"recall.{names[each]}": float(right[each] / true[each]) for each in np.flatnonzero(true).tolist()}
    return {"accuracy": scores.accuracy, "loss": scores.loss, "f1": float(f1.mean()), **recalls}


def mean_over_clients(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([metrics[name] for metrics in each])) for name in each[0]}


def fairness_metrics(clients: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """Fairness: mean, standard deviation (of this population) and the mean of the worst tenth, at least one client."""
    accuracies = np.sort([values["accuracy"] for values in clients.values()])
    worst = accuracies[: max(1, math.ceil(len(accuracies) / 10))]
    return {
        "client_accuracy_mean": float(accuracies.mean()),
        "client_accuracy_std": float(accuracies.std()),
        "client_accuracy_worst10": float(worst.mean()),
    }
