"""Local rules: what a strategy changes on the client, as an object that acts on tensors stacked over clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from workers.engine.messages.arrays import Tensors
from workers.engine.training.optimizer import StackedOptimizer
from workers.engine.training.schedule import Rows

CLIENT_PREFIX = "client/"
OVERRIDES = {
    "changes_losses": "losses",
    "changes_gradients": "gradient",
    "changes_steps": "stepped",
    "changes_targets": "targets",
}
"""Flags of a local rule, and the methods that they belong to."""
Part = Literal["train", "validation"]


class ClientStore:
    """What each client keeps between rounds: named tensors by client. Only clients that kept something take memory."""

    def __init__(self) -> None:
        self.kept: dict[int, Tensors] = {}

    def read(self, clients: Iterable[int], name: str, default: torch.Tensor) -> torch.Tensor:
        """That value of each client, stacked; `default` for a client that has none yet."""
        return torch.stack([self.kept.get(client, {}).get(name, default) for client in clients])

    def write(self, clients: Iterable[int], name: str, values: torch.Tensor) -> None:
        for client, value in zip(clients, values, strict=True):
            self.kept.setdefault(client, {})[name] = value.clone()

    def model(self, client: int, default: Tensors) -> Tensors:
        tensors = self.kept.get(client, {})
        return {name: tensors.get(name, value) for name, value in default.items()}

    @contextmanager
    def unchanged_on_error(self) -> Iterator[None]:
        """A round that breaks off leaves no trace, although some of its clients had finished."""
        before = {client: dict(tensors) for client, tensors in self.kept.items()}
        try:
            yield
        except BaseException:
            self.kept = before
            raise

    def forget(self, clients: Iterable[int]) -> None:
        for client in clients:
            self.kept.pop(client, None)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            f"{CLIENT_PREFIX}{client}/{name}": tensor.cpu().numpy()
            for client, tensors in sorted(self.kept.items())
            for name, tensor in tensors.items()
        }

    def load(self, arrays: Mapping[str, np.ndarray], device: torch.device) -> None:
        for path, array in arrays.items():
            if path.startswith(CLIENT_PREFIX):
                client, _, name = path.removeprefix(CLIENT_PREFIX).partition("/")
                self.kept.setdefault(int(client), {})[name] = torch.from_numpy(np.array(array)).to(device)


@dataclass
class LocalWork:
    """Some clients in the middle of a round; row i of every stack belongs to `clients[i]`.

    `anchor` is the server's model (`was_sent`: the clients really got it now); where messages name models by task it
    is empty, and row i is the model `tasks[i]` of its client. `params` and `buffers` are the clients' own, updated in
    place. `received` has further records of the server by name. `full_gradient` computes each client's gradient at the
    anchor over all its samples; `mean_loss` the loss of each row of a stacked model on that part of its client's
    samples, and how many these are; `class_counts` [clients, classes] the training samples of each. `rule` is free for
    the local rule, `terms` is what it said of every step.
    """

    round: int
    clients: list[int]
    tasks: list[str | None]
    samples: list[int]
    steps: torch.Tensor
    anchor: Tensors
    params: Tensors
    buffers: Tensors
    received: Mapping[str, Tensors]
    config: Mapping[str, Any]
    store: ClientStore
    optimizer: StackedOptimizer
    was_sent: bool
    full_gradient: Callable[[], Tensors]
    mean_loss: Callable[[Part, Tensors], tuple[torch.Tensor, torch.Tensor]]
    dropout_keys: torch.Tensor
    rule: dict[str, Any] = field(default_factory=dict)
    terms: Terms = field(default_factory=lambda: Terms())
    augment_keys: np.ndarray | None = None
    class_counts: Callable[[], torch.Tensor] = lambda: torch.empty(0)


@dataclass(frozen=True)
class LocalStep:
    """One step of some rows: their parameters and gradients, as views or copies of those rows only."""

    step: int
    rows: Rows
    params: Tensors
    grads: Tensors


@dataclass(frozen=True)
class Predictions:
    """What the models of some rows say of a batch, with gradients: `logits` [rows, samples, classes].

    `labels` [rows, samples] are those to learn; `cross_entropy` has the losses [rows, samples] of logits like these.
    `representations` [rows, samples, values] is what went into the last layer; `representations_of` the same of another
    stacked model of these rows, in evaluation mode and as constants.
    """

    rows: Rows
    labels: torch.Tensor
    logits: torch.Tensor
    representations: torch.Tensor
    cross_entropy: Callable[[torch.Tensor], torch.Tensor]
    representations_of: Callable[[Tensors], torch.Tensor]


@dataclass(frozen=True)
class Terms:
    """What a rule adds to every step of a round, where it is no more than this: it then costs next to nothing.

    Each gradient gains `pull` * (parameter - anchor) and `gradient`; after the optimizer's step the parameters lose
    `step`. Both are stacked over the clients, by parameter; what has no name there gains and loses nothing.
    """

    pull: float = 0.0
    gradient: Mapping[str, torch.Tensor] = field(default_factory=dict)
    step: Mapping[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Contribution:
    """What a rule adds to the replies: stacked arrays by record name, and numbers per client by metric name."""

    arrays: Mapping[str, Tensors] = field(default_factory=dict)
    metrics: Mapping[str, list[float]] = field(default_factory=dict)


class LocalRule:
    """Plain local training. A strategy overrides what differs; state between rounds goes into `work.store`.

    `changes_losses`, `changes_gradients`, `changes_steps` and `changes_targets` are true for a class that overrides
    `losses`, `gradient`, `stepped` or `targets`, unless the class, one derived from it or the instance says otherwise.
    """

    changes_losses: bool = False
    changes_gradients: bool = False
    changes_steps: bool = False
    changes_targets: bool = False
    full_batch: bool = False
    """One step along the gradient over all samples of a client, in place of epochs of batches."""
    personal: LocalRule | None = None
    """Another training of the same clients on the same batches, after this one; what it ends with is not sent."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for flag, method in OVERRIDES.items():
            if overrides_silently(cls, method, flag):
                setattr(cls, flag, True)

    def start(self, work: LocalWork) -> None:
        """Before the first step; may change `work.params` in place."""

    def terms(self, work: LocalWork) -> Terms:
        """After `start`: what comes to every step. What is no such term goes into `gradient` or `stepped`."""
        return Terms()

    def targets(self, work: LocalWork, rows: Rows, labels: torch.Tensor) -> torch.Tensor:
        """The labels these rows learn, each sample by its own; nothing may follow where `changes_targets` is false."""
        return labels

    def losses(self, work: LocalWork, predictions: Predictions) -> torch.Tensor:
        """The loss [rows, samples] of every sample, to be differentiated. Called only where `changes_losses`."""
        return predictions.cross_entropy(predictions.logits)

    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        """Changes `step.grads` in place. Called only where `changes_gradients`."""

    def stepped(self, work: LocalWork, step: LocalStep) -> None:
        """Changes `step.params` in place, after the optimizer's step. Called only where `changes_steps`.

        `step.grads` is then what the optimizer left of it.
        """

    def finish(self, work: LocalWork) -> Contribution:
        """After the last step. The model itself is sent by the engine under `reply_name`."""
        return Contribution()

    def reply_name(self, work: LocalWork) -> str | None:
        """Record that carries the client's model; `observed` is seen but not counted; None sends no model."""
        return "arrays"


def overrides_silently(rule: type[LocalRule], method: str, flag: str) -> bool:
    """Whether the nearest class that has one of the two overrides the method and does not set the flag."""
    nearest = next(vars(each) for each in rule.__mro__ if method in vars(each) or flag in vars(each))
    return flag not in nearest
