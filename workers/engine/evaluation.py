"""Evaluation on the server's test set, the clients' held-out parts or both, in batches of bounded size; metrics."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from threading import local

import numpy as np
import torch
from torch.func import functional_call
from torch.nn import functional as F  # noqa: N812

from workers.attacks.data_attacks import Backdoor, LabelFlip
from workers.engine.clients import ClientMapping
from workers.engine.execution.threads import stream_count
from workers.engine.federation import Federation
from workers.engine.messages.arrays import Tensors
from workers.engine.messages.message_keys import SAMPLES
from workers.engine.poisoning import SUCCESS, flip_success, with_trigger
from workers.engine.prepared import DEVICE_COPIES
from workers.engine.server.method import Forward, Outputs
from workers.engine.training.chain import score_chain
from workers.engine.training.compiled_chain import compiled_scores, is_compiled
from workers.engine.training.network import Network, is_convolutional, with_faster_layout
from workers.engine.training.trainer import Samples
from workers.spec import RunSpec
from workers.streams import stream

Notes = Mapping[str, torch.Tensor]
BatchScores = tuple[torch.Tensor, torch.Tensor, Mapping[str, torch.Tensor]]
"""Losses, predicted classes and what else was noted."""
OutputFunction = Callable[[Forward, Tensors, torch.Tensor, torch.Tensor], Outputs]
BATCH_VALUES, PICTURE_VALUES, CHAIN_VALUES = 2**20, 2**17, 2**22
"""Most input values in one evaluated batch, which is of one model: what is held at once does not grow with clients.

On a CPU fewer for a CNN, because what it makes of pictures shall stay in the cache: half the time of 2^20. More for a
chain of linear layers, whose calls are short.
"""
FAIRNESS_METRICS = ("client_accuracy_mean", "client_accuracy_std", "client_accuracy_worst10")


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
        self.thread_local = local()
        self.network, self.key = network, torch.tensor([int(stream(spec.seed, "dropout").integers(2**63))])
        self.outputs = outputs or plain_outputs
        self.names = spec.dataset_facts.class_names or tuple(map(str, range(spec.dataset_facts.classes)))
        clients = self.clients = federation.clients
        self.held_out = ClientMapping(clients, lambda row: clients[row].held_out, clients.held_out_sizes > 0)
        self.validation = ClientMapping(clients, lambda row: clients[row].validation, clients.validation_sizes > 0)
        self.test = Samples(
            DEVICE_COPIES.get(federation.test_x, samples.x.device, samples.x.dtype),
            DEVICE_COPIES.get(federation.test_y, samples.y.device, torch.int64),
        )

    def evaluate(
        self, model: Tensors, cohort: Sequence[int], held_out_model: Callable[[int], Tensors] | None = None
    ) -> EvaluationResult:
        """One model for everybody; on its held-out part each client has its `held_out_model`, where given."""
        return self.evaluate_where_asked(
            lambda: self.result_of(self.scores(model, self.test)),
            lambda: (
                self.evaluate_personal_held_out(held_out_model, cohort)
                if held_out_model
                else self.evaluate_held_out(model, cohort)
            ),
        )

    def evaluate_personal(self, model_of: Callable[[int], Tensors], cohort: Sequence[int]) -> EvaluationResult:
        """Every client with its own model: on its held-out part (pooled), or on the test set (means over clients)."""
        return self.evaluate_where_asked(
            lambda: self.evaluate_personal_on_test_set(model_of, cohort),
            lambda: self.evaluate_personal_held_out(model_of, cohort),
        )

    def evaluate_where_asked(
        self, on_server: Callable[[], EvaluationResult], on_clients: Callable[[], EvaluationResult]
    ) -> EvaluationResult:
        """With `both`, what is said of each client is from its held-out part, and the rest from the test set."""
        if self.spec.evaluation.on == "server":
            return on_server()
        if self.spec.evaluation.on == "clients":
            return on_clients()
        server, clients = on_server(), on_clients()
        metrics = {name: value for name, value in server.metrics.items() if name not in FAIRNESS_METRICS}
        fairness = {name: value for name, value in clients.metrics.items() if name in FAIRNESS_METRICS}
        noted_means = clients.noted_means or server.noted_means
        return replace(server, metrics={**metrics, **fairness}, clients=clients.clients, noted_means=noted_means)

    def evaluate_held_out(self, model: Tensors, cohort: Sequence[int]) -> EvaluationResult:
        candidates = cohort if self.spec.evaluation.clients == "cohort" else list(self.held_out)
        return self.evaluate_on_clients(model, [client for client in candidates if client in self.held_out])

    def evaluate_on_clients(self, model: Tensors, clients: Sequence[int]) -> EvaluationResult:
        """One pass over all held-out parts; weighting by size is the same as pooling."""
        if not clients:
            return EvaluationResult({}, {})
        parts = self.held_out_parts(clients)
        scores = self.scores(model, self.samples, np.concatenate(parts))
        bounds = pairwise(np.cumsum([0, *map(len, parts)]).tolist())
        own_scores = (scores.subset(slice(start, end)) for start, end in bounds)
        return self.result_of(scores, dict(zip(clients, map(accuracy_and_loss, own_scores), strict=True)))

    def held_out_parts(self, clients: Sequence[int]) -> list[np.ndarray]:
        """As indices into the samples, which are made now where they were not there yet."""
        rows = [self.clients[self.clients.row(client)] for client in clients]
        return [client.held_out for client in self.samples.hold(rows)]

    def result_of(self, scores: Scores, each: dict[int, dict[str, float]] | None = None) -> EvaluationResult:
        metrics = {**metrics_of(scores, self.names), **(fairness_metrics(each) if each else {})}
        noted_means = {name: float(values.mean()) for name, values in scores.noted_values.items()}
        return EvaluationResult(metrics, each or {}, scores.confusion(len(self.names)), noted_means)

    def evaluate_personal_held_out(self, model_of: Callable[[int], Tensors], cohort: Sequence[int]) -> EvaluationResult:
        clients = [client for client in self.evaluating_clients(cohort) if client in self.held_out]
        parts = zip(clients, self.held_out_parts(clients), strict=True)
        scores = {client: self.scores(model_of(client), self.samples, part) for client, part in parts}
        if not scores:
            return EvaluationResult({}, {})
        each = {client: accuracy_and_loss(own) for client, own in scores.items()}
        result = self.result_of(Scores.concatenate(list(scores.values())), each)
        return replace(result, noted_means=mean_notes(list(scores.values())))

    def evaluate_personal_on_test_set(
        self, model_of: Callable[[int], Tensors], cohort: Sequence[int]
    ) -> EvaluationResult:
        """One model after the other: of each only metrics stay, as clients x test samples do not fit in memory."""
        metrics: dict[int, dict[str, float]] = {}
        confusion = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        clients = self.evaluating_clients(cohort)
        for model, sharers in clients_by_model(model_of, clients):
            scores = self.scores(model, self.test)
            metrics |= dict.fromkeys(sharers, metrics_of(scores, self.names))
            confusion += len(sharers) * scores.confusion(len(self.names))
        if not metrics:
            return EvaluationResult({}, {})
        each = {client: {name: metrics[client][name] for name in ("accuracy", "loss")} for client in clients}
        means = mean_over_clients([metrics[client] for client in clients])
        return EvaluationResult({**means, **fairness_metrics(each)}, each, confusion)

    @property
    def everyone(self) -> list[int]:
        everyone: list[int] = self.clients.numbers.tolist()
        return everyone

    def evaluating_clients(self, cohort: Sequence[int]) -> Sequence[int]:
        return cohort if self.spec.evaluation.clients == "cohort" else self.everyone

    def validation_loss(self, model_of: Callable[[int], Tensors]) -> float:
        """The mean loss over the validation samples of all clients, each client with its model."""
        losses = [
            self.scores(model, self.samples, np.concatenate([self.validation[client] for client in sharers])).losses
            for model, sharers in clients_by_model(model_of, list(self.validation))
        ]
        return float(np.mean(np.concatenate(losses)))

    def train_losses(self, model: Tensors, clients: Sequence[int]) -> np.ndarray:
        """Of one model on what each of these clients trains on."""
        rows = self.samples.hold([self.clients[self.clients.row(client)] for client in clients])
        losses = self.scores(model, self.samples, np.concatenate([client.train for client in rows])).losses
        ends = np.cumsum([len(client.train) for client in rows])
        return np.array([part.mean() for part in np.split(losses, ends[:-1])])

    def attack_success(self, model: Tensors | None, result: EvaluationResult) -> dict[str, float]:
        """How far an attack got that has an aim: with the global model, or on all that was evaluated."""
        attack = self.spec.attack
        if isinstance(attack, LabelFlip) and result.confusion is not None:
            return flip_success(attack, result.confusion)
        if isinstance(attack, Backdoor) and model is not None and len(self.triggered.y):
            return {SUCCESS: self.scores(model, self.triggered).accuracy}
        return {}

    @cached_property
    def triggered(self) -> Samples:
        """Test samples with the attack's trigger, all labelled with its target."""
        assert isinstance(self.spec.attack, Backdoor)
        samples = with_trigger(self.spec.attack, self.test.x.cpu().numpy(), self.test.y.cpu().numpy())
        x, y = (torch.from_numpy(samples[name]).to(self.test.x.device) for name in ("x", "y"))
        return Samples(x, y)

    def evaluate_per_client(self, model: Tensors, clients: Sequence[int]) -> dict[int, dict[str, float]]:
        """For Flower's evaluate messages: the clients that hold something out."""
        result = self.evaluate_on_clients(model, [client for client in clients if client in self.held_out])
        return {client: {SAMPLES: len(self.held_out[client]), **values} for client, values in result.clients.items()}

    @torch.no_grad()
    def scores(self, model: Tensors, samples: Samples, index: np.ndarray | None = None) -> Scores:
        """Of all samples, or of those at `index`, which are copied a batch at a time."""
        chosen = None if index is None else torch.from_numpy(index).to(samples.x.device)
        y = samples.y if chosen is None else samples.y[chosen]
        size = max(1, self.batch_values // max(1, samples.x[0].numel()))
        # Small results that lived on, one from each batch, would keep the memory between them from the next batches.
        losses, predictions = torch.empty(len(y), dtype=samples.x.dtype, device=y.device), torch.empty_like(y)

        def score_batch(first: int) -> Notes:
            batch = slice(first, first + size)
            x = samples.x[batch if chosen is None else chosen[batch]]
            losses[batch], predictions[batch], notes = self.score(model, x, y[batch])
            return notes

        firsts = range(0, len(y), size)
        on_threads = len(firsts) > 1 and stream_count(samples.x.device) > 1
        notes = list((self.pool.map if on_threads else map)(score_batch, firsts))
        return Scores(
            y.cpu().numpy(),
            predictions.cpu().numpy(),
            losses.double().cpu().numpy(),
            {name: torch.cat([each[name] for each in notes]).cpu().numpy() for name in (notes[0] if notes else ())},
        )

    @torch.no_grad()
    def score(self, model: Tensors, x: torch.Tensor, y: torch.Tensor) -> BatchScores:
        if self.network.chain is not None and self.outputs is plain_outputs:
            params = [model[name] for name in self.network.parameters]
            return *(compiled_scores if is_compiled(x) else score_chain)(self.network.chain, params, x, y), {}
        with self.network.keyed_generator(self.key):  # some models draw in evaluation too
            outputs = self.outputs(self.forward, model, with_faster_layout(self.network, x), y)
        losses = F.cross_entropy(outputs.logits, y, reduction="none")
        return losses, outputs.logits.argmax(1), outputs.noted

    @property
    def batch_values(self) -> int:
        if self.network.chain is not None:
            return CHAIN_VALUES
        on_cpu = self.samples.x.device.type == "cpu"
        return PICTURE_VALUES if on_cpu and is_convolutional(self.network.module) else BATCH_VALUES

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """Its threads take whole batches, which one thread computes from end to end: more would move the last bits."""
        return ThreadPoolExecutor(stream_count(self.samples.x.device), "evaluation", initializer=self.prepare_thread)

    def prepare_thread(self) -> None:
        """A functional call swaps values inside the module while it runs."""
        torch.set_num_threads(1)
        self.thread_local.module = copy.deepcopy(self.module)

    def forward(self, model: Tensors, x: torch.Tensor) -> torch.Tensor:
        module = getattr(self.thread_local, "module", self.module)
        logits: torch.Tensor = functional_call(module, model, (x,))
        return logits


def clients_by_model(model_of: Callable[[int], Tensors], clients: Sequence[int]) -> Iterator[tuple[Tensors, list[int]]]:
    """Each different model with the clients that have it: the same tensors, be it in another dictionary."""
    models = {client: model_of(client) for client in clients}
    groups: dict[tuple[int, ...], list[int]] = {}
    for client, model in models.items():
        groups.setdefault(tuple(map(id, model.values())), []).append(client)
    for sharers in groups.values():
        yield models[sharers[0]], sharers


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
    counted: dict[int, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    def subset(self, rows: slice) -> Scores:
        return Scores(self.truth[rows], self.predictions[rows], self.losses[rows])

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
        """How often each true class (row) was taken for each class (column); counted once."""
        if classes not in self.counted:
            places = self.truth * classes + self.predictions
            self.counted[classes] = np.bincount(places, minlength=classes**2).reshape(classes, classes)
        return self.counted[classes]


def metrics_of(scores: Scores, names: Sequence[str]) -> dict[str, float]:
    """accuracy, loss, macro F1 over the classes that occur (in truth or prediction), recall of each true class."""
    confusion = scores.confusion(len(names))
    right, true, predicted = confusion.diagonal(), confusion.sum(1), confusion.sum(0)
    occur = true + predicted > 0
    f1 = 2 * right[occur] / (true + predicted)[occur]
    recalls = {f"recall.{names[each]}": float(right[each] / true[each]) for each in np.flatnonzero(true).tolist()}
    return {"accuracy": scores.accuracy, "loss": scores.loss, "f1": float(f1.mean()), **recalls}


def mean_over_clients(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([metrics[name] for metrics in each])) for name in each[0]}


def mean_notes(scores: Sequence[Scores]) -> dict[str, float]:
    """Of whatever was noted, the mean over the clients that have it of their own means."""
    noted: dict[str, list[float]] = {}
    for own in scores:
        for name, values in own.noted_values.items():
            noted.setdefault(name, []).append(float(values.mean()))
    return {name: float(np.mean(means)) for name, means in noted.items()}


def fairness_metrics(clients: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """Fairness: mean, standard deviation (of this population) and the mean of the worst tenth, at least one client."""
    accuracies = np.sort([values["accuracy"] for values in clients.values()])
    worst = accuracies[: max(1, math.ceil(len(accuracies) / 10))]
    values = accuracies.mean(), accuracies.std(), worst.mean()
    return {name: float(value) for name, value in zip(FAIRNESS_METRICS, values, strict=True)}
