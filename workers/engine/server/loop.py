"""The server's loop: configure, send, aggregate, evaluate, record. It speaks only Flower's public strategy methods,

because `Strategy.start` cannot go on from a checkpoint. Which grid is behind it (in process, Ray) does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any, Protocol

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord

from workers.engine.adversary import Adversary
from workers.engine.compression import Compression, SentModel
from workers.engine.evaluation import EvaluationResult, Evaluator
from workers.engine.federation import Federation
from workers.engine.messages.arrays import Tensors, bytes_of, cast_like, record_of, tensors_of
from workers.engine.messages.exchange import DROPPED_OUT
from workers.engine.messages.message_keys import METRICS, SAMPLES, STEPS, TRAIN_LOSS
from workers.engine.records import RoundRecord
from workers.engine.server.attributes import AttributeWatch, unchanged_attributes_on_error
from workers.engine.server.averaging import Averaging
from workers.engine.server.fine_tuning import FineTuner
from workers.engine.server.generators import AGGREGATING, CONFIGURING, keyed_generators
from workers.engine.server.method import Method
from workers.engine.server.selector import Selector
from workers.engine.server.server_side import server_side
from workers.engine.server.step_size import ServerStepSize
from workers.engine.setup import client_classes
from workers.engine.training.rule import ClientStore
from workers.engine.training.schedule import samples_seen
from workers.errors import TributaryError
from workers.spec import RunSpec

OnRound = Callable[[RoundRecord], None]
ClientValues = dict[int, dict[str, float]]
MOST_REMEMBERED_CLIENTS = 20_000
"""Clients, of all rounds together, whose numbers stay in the history of a run that somebody listens to: some 10 MB."""


class RoundGrid(Protocol):
    """What the loop needs of a Flower grid: rounds that can be set, and the clients behind nodes."""

    round: int

    def send_and_receive(self, messages: Sequence[Message], *, timeout: float | None = None) -> list[Message]: ...

    def client(self, node: int) -> int: ...


@dataclass
class Progress:
    """Where a run is: all that changes from round to round, apart from strategy and client state."""

    model: Tensors
    round: int = 0
    history: list[RoundRecord] = field(default_factory=list)
    confusion: np.ndarray | None = None


@dataclass
class ServerLoop:
    spec: RunSpec
    federation: Federation
    method: Method
    grid: RoundGrid
    evaluator: Evaluator
    store: ClientStore
    progress: Progress
    on_round: OnRound | None = None
    padded: bool = True
    adversary: Adversary | None = None
    compression: Compression | None = None
    selector: Selector | None = None
    fine_tuner: FineTuner | None = None
    step_size: ServerStepSize | None = None
    remembered_clients: int = 0
    forgotten_rounds: int = 0

    def __post_init__(self) -> None:
        """Server and rule as they were built: what they remember beyond `state` is known by its change."""
        self.server_side = server_side(self.method.server)
        self.watches = (*self.server_side.attribute_watches(), AttributeWatch("rule", self.method.rule))

    def begin(self, survey: Callable[[], tuple[Tensors, dict[str, float]]] | None = None) -> None:
        """Round 0: the evaluation before training, after the method's survey of the clients if it wants one."""
        times, cpu = [perf_counter()], process_time()
        survey_metrics: dict[str, float] = {}
        if survey is not None:
            self.progress.model, survey_metrics = survey()
        times.append(perf_counter())
        evaluation = self.evaluate(0, self.progress.model, tuple(self.evaluator.everyone) if survey else ())
        times.append(perf_counter())
        metrics = {
            **evaluation.metrics,
            "bytes_down": 0.0,
            "bytes_peer": 0.0,
            **survey_metrics,
            "bytes_up": survey_metrics.get("bytes_up", 0.0) + self.federation.shared_bytes,
            "seconds": times[2] - times[0],
            "seconds_cpu": process_time() - cpu,
            "seconds_evaluate": times[2] - times[1],
        }
        self.record(RoundRecord(0, metrics, (), evaluation.clients))

    @property
    def is_finished(self) -> bool:
        return self.progress.round >= self.spec.rounds or stops_early(self.spec, self.progress.history)

    def advance(self) -> None:
        """One round. Nothing of progress, strategy and clients changes unless it is complete, evaluation included."""
        number, server, old = self.progress.round + 1, self.method.server, self.progress.model
        self.grid.round = number
        times, cpu = [perf_counter()], process_time()
        with self.unchanged_on_error():
            own_metrics: dict[str, float] = {} if self.selector is None else self.selector.select(number, old)
            sent = SentModel(old) if self.compression is None else self.compression.compress_model(number, old)
            with self.generators(number, CONFIGURING):
                requests = list(server.configure_train(number, record_of(sent.model), ConfigRecord(), self.grid))  # type: ignore[arg-type]
            replies = self.grid.send_and_receive(requests)
            raise_client_errors(number, replies)
            if self.compression is not None:
                saved = self.compression.compress_replies(number, requests, replies, self.grid.client)
                own_metrics["bytes_up"] = own_metrics.get("bytes_up", 0.0) + saved["bytes_up"]
                own_metrics["bytes_down"] = own_metrics.get("bytes_down", 0.0) - sent.bytes_fewer(requests)
            if self.adversary is not None:
                own_metrics |= self.adversary.poison_replies(number, requests, replies, self.grid.client)
            times.append(perf_counter())
            with self.generators(number, AGGREGATING):
                arrays, reported = server.aggregate_train(number, replies)
            model = old if arrays is None else sent.with_rest(self.next_model(number, sent.model, arrays))
            clients = {self.grid.client(reply.metadata.src_node_id): client_values(reply) for reply in replies}
            if self.method.exchange is not None:
                self.method.exchange(
                    self.store, [client for client, values in clients.items() if "failed" not in values]
                )
            times.append(perf_counter())
            cohort = tuple(clients)
            evaluation = self.evaluate_if_due(number, model, cohort)
            times.append(perf_counter())
        self.progress.model, self.progress.round = model, number
        metrics = {
            **evaluation.metrics,
            **train_metrics(clients),
            **work_metrics(clients, self.spec, padded=self.padded, whole=self.method.rule.full_batch),
            **traffic_metrics(requests, replies),
            **phase_seconds(times),
            "seconds_cpu": process_time() - cpu,
        }
        add_reported(metrics, own_metrics)
        add_reported(metrics, reported or {})
        self.record(RoundRecord(number, metrics, cohort, merge_client_values(clients, evaluation.clients)))

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(self.store.unchanged_on_error())
            for watch in self.watches:
                stack.enter_context(unchanged_attributes_on_error(watch.owner))
            yield

    def generators(self, number: int, step: int) -> AbstractContextManager[None]:
        """What the server draws from; the plain mean draws nothing, and seeding takes a tenth of a short round."""
        is_plain = type(self.method.server) is Averaging
        return nullcontext() if is_plain else keyed_generators(self.spec.seed, number, step)

    def next_model(self, number: int, start: Tensors, arrays: ArrayRecord) -> Tensors:
        proposal = tensors_like(start, arrays)
        return proposal if self.step_size is None else self.step_size.scale(number, start, proposal)

    def evaluate_if_due(self, number: int, model: Tensors, cohort: Sequence[int]) -> EvaluationResult:
        if number % self.spec.evaluation.every and number != self.spec.rounds:
            return EvaluationResult({}, {})
        return self.evaluate(number, model, cohort)

    def evaluate(self, number: int, model: Tensors, cohort: Sequence[int]) -> EvaluationResult:
        common = self.server_side.virtual or model
        model_of = self.client_models(number, model)
        if model_of is None:
            own = self.method.held_out_models
            result = self.evaluator.evaluate(common, cohort, own(model).__getitem__ if own else None)
        else:
            result = self.evaluator.evaluate_personal(model_of, cohort)
        model_beside = self.models_beside(number, model, cohort)
        if model_beside is not None:
            result.metrics.update(personal_metrics(self.evaluator.evaluate_personal(model_beside, cohort)))
        if self.spec.watches_validation:
            result.metrics["validation_loss"] = self.evaluator.validation_loss(model_of or (lambda client: common))
        result.metrics.update(self.evaluator.attack_success(common if model_of is None else None, result))
        if self.method.judge is not None and result.noted_means:
            result.metrics.update(self.method.judge(number, result.noted_means))
        self.progress.confusion = self.progress.confusion if result.confusion is None else result.confusion
        return result

    def client_models(self, number: int, model: Tensors) -> Callable[[int], Tensors] | None:
        """The model that each client is evaluated with, where it is not the same for all."""
        if self.method.models is not None:
            return self.method.models(model).__getitem__
        if self.method.candidates is not None:
            candidates = self.method.candidates(model)
            nearest = self.nearest_candidates(candidates)
            return lambda client: candidates[nearest[client]]
        if self.method.personal and number:
            return lambda client: self.store.model(client, model)
        return None

    def nearest_candidates(self, candidates: Sequence[Tensors]) -> dict[int, int]:
        """For each client which model has the least loss on what it trains on; NaN is none."""
        everyone = self.evaluator.everyone
        losses = np.stack([self.evaluator.train_losses(model, everyone) for model in candidates])
        return dict(zip(everyone, np.nan_to_num(losses, nan=np.inf).argmin(0).tolist(), strict=True))

    def models_beside(self, number: int, model: Tensors, cohort: Sequence[int]) -> Callable[[int], Tensors] | None:
        """The model that each client is evaluated with beside the server's, where it has one."""
        if self.fine_tuner is not None:
            return self.fine_tuner.models(number, model, self.evaluator.evaluating_clients(cohort)).__getitem__
        return (lambda client: self.store.model(client, model)) if self.method.personal_beside else None

    @property
    def final_model(self) -> Tensors:
        model_of = self.client_models(self.progress.round, self.progress.model)
        clients = {} if model_of is None else {client: model_of(client) for client in self.evaluator.everyone}
        return self.server_side.final_model(self.progress.model, clients)

    @property
    def findings(self) -> dict[str, Any]:
        findings = {**self.server_side.findings, **self.candidate_findings}
        confusion = self.progress.confusion
        return {
            **({} if confusion is None else {"confusion": confusion.tolist()}),
            **({self.spec.strategy.name: findings} if findings else {}),
        }

    @property
    def candidate_findings(self) -> dict[str, Any]:
        """Where clients choose among several models: who is evaluated with which."""
        if self.method.candidates is None:
            return {}
        candidates = self.method.candidates(self.progress.model)
        nearest = self.nearest_candidates(candidates).items()
        groups = [[client for client, own in nearest if own == at] for at in range(len(candidates))]
        return {"groups": [{"members": members, "classes": self.classes_of(members)} for members in groups]}

    def classes_of(self, clients: Sequence[int]) -> list[str]:
        """The names of all classes that these clients hold."""
        held = client_classes(self.federation)
        return [self.evaluator.names[each] for each in sorted({each for client in clients for each in held[client]})]

    def record(self, record: RoundRecord) -> None:
        self.progress.history.append(record)
        if self.on_round is not None:
            self.on_round(record)
            self.forget_clients()

    def forget_clients(self) -> None:
        """Whoever listens was told of every client: of rounds long ago the history need not have them as well."""
        history = self.progress.history
        self.remembered_clients += len(history[-1].clients)
        while self.remembered_clients > MOST_REMEMBERED_CLIENTS and self.forgotten_rounds < len(history) - 1:
            oldest = history[self.forgotten_rounds]
            history[self.forgotten_rounds] = replace(oldest, clients={})
            self.remembered_clients -= len(oldest.clients)
            self.forgotten_rounds += 1


def personal_metrics(own_models: EvaluationResult) -> dict[str, float]:
    names = ("accuracy", "loss", "f1")
    return {f"personal_{name}": own_models.metrics[name] for name in names if name in own_models.metrics}


def raise_client_errors(number: int, replies: Sequence[Message]) -> None:
    """A client that dropped out is part of the experiment; one that raised is a fault of ours or of a plugin."""
    for reply in replies:
        if reply.has_error() and DROPPED_OUT not in str(reply.error.reason):
            raise TributaryError(f"Round {number} failed on a client:\n{reply.error.reason}")


def tensors_like(model: Tensors, arrays: ArrayRecord) -> Tensors:
    """On the model's device and with its types: strategies of Flower's compute with NumPy, some of them in float64."""
    device = next(iter(model.values())).device
    tensors = tensors_of(arrays, device)
    return {name: cast_like(model[name], each) if name in model else each for name, each in tensors.items()}


def client_values(reply: Message) -> dict[str, float]:
    if reply.has_error():
        return {"failed": 1.0}
    values = reply.content[METRICS]
    assert isinstance(values, MetricRecord)
    return {
        "samples": metric_number(values, SAMPLES),
        "steps": metric_number(values, STEPS),
        "train_loss": metric_number(values, TRAIN_LOSS),
    }


def metric_number(values: MetricRecord, name: str) -> float:
    value = values[name]
    return float("nan") if isinstance(value, list) else float(value)


def merge_client_values(trained: ClientValues, evaluated: ClientValues) -> ClientValues:
    everyone = [*trained, *(client for client in evaluated if client not in trained)]
    return {client: {**trained.get(client, {}), **evaluated.get(client, {})} for client in everyone}


def train_metrics(clients: ClientValues) -> dict[str, float]:
    """The clients' losses weighted by samples; `failures` only where there were some."""
    successful = [values for values in clients.values() if "failed" not in values]
    result = {}
    if total := sum(each["samples"] for each in successful):
        result["train_loss"] = sum(each["train_loss"] * each["samples"] for each in successful) / total
    if len(successful) < len(clients):
        result["failures"] = float(len(clients) - len(successful))
    return result


def work_metrics(clients: ClientValues, spec: RunSpec, *, padded: bool, whole: bool = False) -> dict[str, float]:
    """What the clients' training of a round comes to, all together; `whole`: each step went through all samples."""
    size = spec.local.batch_size
    work = [(int(each["samples"]), int(each["steps"])) for each in clients.values() if "failed" not in each]
    seen = [own if whole else samples_seen(own, steps, size, padded=padded) for own, steps in work]
    return {"local_steps": float(sum(steps for _, steps in work)), "samples_seen": float(sum(seen))}


def traffic_metrics(requests: Sequence[Message], replies: Sequence[Message]) -> dict[str, float]:
    """Requests share their content, so it is measured once; a client that failed got its request all the same."""
    sizes = {id(request.content): 0 for request in requests}
    for request in requests:
        sizes[id(request.content)] = sizes[id(request.content)] or bytes_of(request.content)
    return {
        "bytes_up": float(sum(bytes_of(reply.content) for reply in replies if not reply.has_error())),
        "bytes_down": float(sum(sizes[id(request.content)] for request in requests)),
        "bytes_peer": 0.0,
    }


def add_reported(metrics: dict[str, float], reported: Mapping[str, object]) -> None:
    """A strategy's own metrics have a dot in their name; its bytes add to those of the messages."""
    for name, value in reported.items():
        if isinstance(value, int | float) and (name.startswith("bytes_") or "." in name):
            metrics[name] = metrics[name] + value if name.startswith("bytes_") else float(value)


def phase_seconds(times: Sequence[float]) -> dict[str, float]:
    train, aggregate, evaluate = (later - earlier for earlier, later in pairwise(times))
    return {
        "seconds": times[-1] - times[0],
        "seconds_train": train,
        "seconds_aggregate": aggregate,
        "seconds_evaluate": evaluate,
    }


def stops_early(spec: RunSpec, history: Sequence[RoundRecord]) -> bool:
    """The target is reached, or the loss has not improved for `patience` evaluations (NaN is no improvement).

    The loss is the validation's where there is a validation part, so that the test set does not choose the round.
    """
    if not history:
        return False
    target, patience = spec.stop.target_accuracy, spec.stop.patience
    if target is not None and history[-1].round and history[-1].metrics.get("accuracy", 0.0) >= target:
        return True
    if patience is None:
        return False
    watched = "validation_loss" if spec.watches_validation else "loss"
    losses = [record.metrics[watched] for record in history if watched in record.metrics]
    best, since = float("inf"), 0
    for loss in losses:
        best, since = (loss, 0) if loss < best else (best, since + 1)
    return since >= patience
