"""Local training of a stack of clients, step by step: gradients, local rule, optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import torch

from workers.engine.clients import ClientData
from workers.engine.messages.arrays import Tensors
from workers.engine.training.augmentation import Augmentation, make_augmentation
from workers.engine.training.chain import Chain, ChainState, Gradients, Update, train_chain
from workers.engine.training.compiled_chain import compiled_training, is_compiled
from workers.engine.training.convolutions import Convolutions, channels_last, train_convolutions
from workers.engine.training.dropout import step_offset
from workers.engine.training.losses import mean_losses
from workers.engine.training.network import LossFunction, Network, stacked_gradients
from workers.engine.training.optimizer import StackedOptimizer, State
from workers.engine.training.rule import ClientStore, Contribution, LocalRule, LocalStep, LocalWork, Part, Predictions
from workers.engine.training.schedule import Batch, Layout, Rows, Schedule
from workers.errors import StopRequested
from workers.spec import RunSpec
from workers.streams import client_keys

EVALUATION = 1 << 62
"""Sets the key of a client's own evaluation apart from those of its steps."""
STRETCH, CONVOLUTIONAL_STRETCH = 500_000_000, 16
"""Multiplications of a chain's forward passes in one call, some ten milliseconds; steps of a CNN in one."""
GradientFunction = Callable[
    [
        Network,
        Sequence[torch.Tensor],
        Tensors,
        torch.Tensor,
        torch.Tensor,
        torch.Tensor | None,
        LossFunction | None,
    ],
    Gradients,
]


@dataclass(frozen=True)
class Samples:
    """All clients' data, once, on the device; a client is an index vector."""

    x: torch.Tensor
    y: torch.Tensor

    def hold(self, clients: Sequence[ClientData]) -> Sequence[ClientData]:
        """The clients with indices into `x` and `y` as these are until others are asked for; here they have them."""
        return clients

    def take(self, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        flat = index.reshape(-1)
        x, y = self.x.index_select(0, flat), self.y.index_select(0, flat)
        return x.view(*index.shape, *self.x.shape[1:]), y.view(index.shape)


@dataclass(frozen=True)
class Assignment:
    """What some clients are asked to do in a round. `parts` has the stragglers among them.

    All train `anchor`; or, where `models` has models by task, a client is listed once for each task it has.
    """

    round: int
    clients: Sequence[ClientData]
    anchor: Tensors
    was_sent: bool = True
    received: Mapping[str, Tensors] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[int, float] = field(default_factory=dict)
    models: Mapping[str | None, Tensors] = field(default_factory=dict)

    def stack(self, name: str, clients: Sequence[ClientData]) -> torch.Tensor:
        """A row for each client, its own to change."""
        if not self.models:
            return repeat_rows(self.anchor[name], len(clients))
        return torch.stack([self.models[client.task][name] for client in clients])


@dataclass(frozen=True)
class Outcome:
    """What a stack of clients answers; row i belongs to `clients[i]`, and is its model `tasks[i]`."""

    clients: list[int]
    tasks: list[str | None]
    samples: list[int]
    steps: list[int]
    losses: list[float]
    model: Tensors
    reply_name: str | None
    contribution: Contribution


@dataclass(frozen=True)
class Trainer:
    """Trains stacks: `gradients` decides whether they are computed together or one at a time."""

    spec: RunSpec
    network: Network
    samples: Samples
    optimizer: StackedOptimizer
    rule: LocalRule
    store: ClientStore
    gradients: GradientFunction
    padded: bool
    stop: Callable[[], bool] | None = None

    def train(self, assignment: Assignment) -> Outcome:
        factor = self.spec.local.schedule.factor(max(1, assignment.round), self.spec.rounds)
        if factor != 1:
            return replace(self, optimizer=self.optimizer.at_rate(factor)).train_round(assignment)
        return self.train_round(assignment)

    def train_round(self, assignment: Assignment) -> Outcome:
        schedule = self.schedule(assignment)
        work = self.start(assignment, schedule)
        self.rule.start(work)
        work.terms = self.rule.terms(work)
        losses = self.run_steps(work, schedule)
        if self.rule.personal is not None:
            replace(self, rule=self.rule.personal).train_round(assignment)
        return Outcome(
            work.clients,
            work.tasks,
            work.samples,
            work.steps.tolist(),
            (losses / work.steps.clamp(min=1)).tolist(),
            {**work.params, **work.buffers},
            self.rule.reply_name(work),
            self.rule.finish(work),
        )

    def schedule(self, assignment: Assignment) -> Schedule:
        return Schedule(
            [client.train for client in assignment.clients],
            self.keys("batches", assignment.clients, assignment.round),
            self.samples.y,
            epochs=self.spec.local.epochs,
            batch_size=self.spec.local.batch_size,
            parts=[assignment.parts.get(client.index) for client in assignment.clients],
            padded=self.padded,
            dtype=self.samples.x.dtype,
            steps=self.spec.local.steps,
        )

    def keys(self, purpose: Any, clients: Sequence[ClientData], number: int) -> np.ndarray:
        return client_keys(self.spec.seed, purpose, np.array([client.key for client in clients]), number)

    def start(self, assignment: Assignment, schedule: Schedule) -> LocalWork:
        clients = [assignment.clients[row] for row in schedule.by_steps]

        def stack_all(names: Sequence[str]) -> Tensors:
            return {name: assignment.stack(name, clients) for name in names}

        work = LocalWork(
            round=assignment.round,
            clients=[client.index for client in clients],
            tasks=[client.task for client in clients],
            samples=[len(client.train) for client in clients],
            steps=torch.from_numpy(schedule.steps[schedule.by_steps]),
            anchor=assignment.anchor,
            params=stack_all(self.network.parameters),
            buffers=stack_all(self.network.buffers),
            received=assignment.received,
            config=assignment.config,
            store=self.store,
            optimizer=self.optimizer,
            was_sent=assignment.was_sent,
            full_gradient=lambda: self.full_gradient(work, schedule),
            mean_loss=lambda part, model: self.mean_loss(work, clients, part, model),
            dropout_keys=self.dropout_keys(clients, assignment.round),
            augment_keys=None if self.augmentation is None else self.keys("augment", clients, assignment.round),
            class_counts=lambda: self.class_counts(clients),
        )
        return work

    def dropout_keys(self, clients: Sequence[ClientData], number: int) -> torch.Tensor:
        keys = self.keys("dropout", clients, number).view(np.int64)
        return torch.from_numpy(keys).to(self.samples.x.device)

    def class_counts(self, clients: Sequence[ClientData]) -> torch.Tensor:
        y, classes = self.samples.y, self.spec.dataset_facts.classes
        indices = [torch.tensor(client.train, device=y.device) for client in clients]
        return torch.stack([torch.bincount(y[index], minlength=classes) for index in indices])

    def run_steps(self, work: LocalWork, schedule: Schedule) -> torch.Tensor:
        """All steps; returns the sum of each client's losses over its steps."""
        if self.written_out is not None and self.network.chain is not None and is_compiled(self.samples.x):
            return self.run_compiled(self.network.chain, self.written_out, work, schedule)
        params = list(work.params.values())
        state = self.optimizer.new_state(params)
        if self.spec.local.keep_optimizer:
            self.recall_moments(work, state)
        losses = self.take_steps(work, params, state, schedule)
        if self.spec.local.keep_optimizer:
            self.keep_moments(work, state)
        return losses

    def recall_moments(self, work: LocalWork, state: State) -> None:
        for slot, tensors in state.items():
            for name, tensor in zip(self.network.parameters, tensors, strict=True):
                tensor.copy_(self.store.read(work.clients, f"optimizer/{slot}/{name}", torch.zeros_like(tensor[0])))

    def keep_moments(self, work: LocalWork, state: State) -> None:
        for slot, tensors in state.items():
            for name, tensor in zip(self.network.parameters, tensors, strict=True):
                self.store.write(work.clients, f"optimizer/{slot}/{name}", tensor)

    def take_steps(self, work: LocalWork, params: list[torch.Tensor], state: State, schedule: Schedule) -> torch.Tensor:
        if self.rule.full_batch:
            return self.full_batch_step(work, params, state, schedule).cpu()
        losses = torch.zeros(len(work.clients), dtype=self.samples.x.dtype, device=self.samples.x.device)
        if self.written_out is not None and self.network.chain is not None:
            self.run_chain(self.network.chain, work, state, losses, schedule)
            return losses.cpu()
        if self.written_out is not None and self.network.convolutions is not None and len(work.clients) == 1:
            self.run_convolutions(self.network.convolutions, work, losses, schedule)
            return losses.cpu()
        for batch in self.until_stopped(work, schedule.batches()):
            step_losses = self.step(work, params, state, batch)
            if len(step_losses) == len(losses):
                losses += step_losses
            else:
                losses[batch.rows] += step_losses
        return losses.cpu()

    @cached_property
    def written_out(self) -> Update | None:
        """The optimizer in numbers, where nothing looks at gradients or steps: then many steps are one call."""
        hidden = not (self.rule.changes_losses or self.rule.changes_gradients or self.rule.changes_steps)
        own_steps = type(self.optimizer).update is StackedOptimizer.update
        local = self.spec.local
        plain = local.clip_norm is None and not local.label_smoothing and not local.keep_optimizer
        written = hidden and own_steps and plain and self.augmentation is None
        return self.optimizer.in_numbers if self.gradients is stacked_gradients and written else None

    @cached_property
    def augmentation(self) -> Augmentation | None:
        return make_augmentation(self.spec, self.samples.x)

    def run_chain(self, chain: Chain, work: LocalWork, state: State, losses: torch.Tensor, schedule: Schedule) -> None:
        first, second = self.optimizer.moments(state)
        train = partial(train_chain, chain, self.chain_state(work, first, second, losses))
        values = sum(stack.numel() for stack in work.params.values())
        self.run_stretches(work, schedule, train, max(1, STRETCH // (values * self.spec.local.batch_size)))

    def run_compiled(self, chain: Chain, update: Update, work: LocalWork, schedule: Schedule) -> torch.Tensor:
        losses, layout = torch.zeros(len(work.clients)), schedule.layout
        state = self.chain_state(work, [], [], losses)
        labels = self.labels_of(work, layout)
        training = compiled_training(chain, state, update, self.samples.x, labels, layout, self.class_weights)
        values = sum(stack.numel() for stack in state.params)
        steps = max(1, STRETCH // (values * self.spec.local.batch_size))
        longest = int(layout.steps.max(initial=0))
        for first in range(0, longest, steps):
            last = min(first + steps, longest)
            self.raise_if_stopped(work, range(first, last))
            training.advance(first, last)
        training.write_into(state.params)
        return losses

    def labels_of(self, work: LocalWork, layout: Layout) -> torch.Tensor:
        """What is learned of each sample of the layout, by whoever has it."""
        labels = self.samples.y[torch.from_numpy(layout.order)]
        if not self.rule.changes_targets:
            return labels
        for row in range(len(work.clients)):
            passes = range(-(-int(layout.steps[row]) // max(1, int(layout.per_epoch[row]))))
            for start in (int(layout.offsets[row]) + number * int(layout.strides[row]) for number in passes):
                own = labels[None, start : start + int(layout.sizes[row])]
                own.copy_(self.rule.targets(work, slice(row, row + 1), own))
        return labels

    def run_convolutions(
        self, convolutions: Convolutions, work: LocalWork, losses: torch.Tensor, schedule: Schedule
    ) -> None:
        """On a copy of the one client's tensors, laid out for it."""
        state = self.chain_state(work, [], [], losses)
        params = list(map(channels_last, state.params))
        moments = self.optimizer.moments(self.optimizer.new_state(params))
        own = replace(
            state,
            params=params,
            first=moments[0],
            second=moments[1],
            gradient_term=[each[0] for each in state.gradient_term],
            step_term=[each[0] for each in state.step_term],
        )
        self.run_stretches(work, schedule, partial(train_convolutions, convolutions, own), CONVOLUTIONAL_STRETCH)
        for stack, param in zip(state.params, params, strict=True):
            stack[0] = param

    def chain_state(
        self, work: LocalWork, first: list[torch.Tensor], second: list[torch.Tensor], losses: torch.Tensor
    ) -> ChainState:
        def in_order(tensors: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
            return [tensors[name] for name in self.network.parameters] if tensors else []

        terms = work.terms
        anchor = in_order(work.anchor) if terms.pull else []
        return ChainState(
            in_order(work.params),
            first,
            second,
            losses,
            terms.pull,
            anchor,
            in_order(terms.gradient),
            in_order(terms.step),
        )

    def run_stretches(self, work: LocalWork, schedule: Schedule, train: Callable[..., None], steps: int) -> None:
        """So many steps in one call: somebody who stops the run shall hardly wait."""
        batches_left = self.until_stopped(work, schedule.batches())
        while batches := list(islice(batches_left, steps)):
            train(
                self.written_out,
                self.samples.x,
                [batch.index for batch in batches],
                labels := [self.rule.targets(work, batch.rows, batch.labels) for batch in batches],
                [self.weights(batch, own) for batch, own in zip(batches, labels, strict=True)],
                batches[0].step,
            )

    @cached_property
    def class_weights(self) -> torch.Tensor | None:
        weights = self.spec.local.class_weights
        return None if weights is None else torch.tensor(weights).to(self.samples.x)

    def weights(self, batch: Batch, labels: torch.Tensor) -> torch.Tensor | None:
        """What each sample's loss counts in its client's mean, where they do not all count the same."""
        if self.class_weights is None:
            return batch.weights
        return self.class_weights[labels] * (1 / labels.shape[1] if batch.weights is None else batch.weights)

    def until_stopped(self, work: LocalWork, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Asks before each batch whether to stop."""
        for batch in batches:
            self.raise_if_stopped(work, [batch.step])
            yield batch

    def raise_if_stopped(self, work: LocalWork, steps: Iterable[int]) -> None:
        """Asked before each of these steps."""
        for step in steps if self.stop is not None else ():
            if self.stop is not None and self.stop():
                raise StopRequested(f"Stopped in round {work.round}, at local step {step + 1}.")

    def full_gradient(self, work: LocalWork, schedule: Schedule) -> Tensors:
        """Each client's gradient at the anchor over all its samples; batch statistics stay as they are."""
        at = [repeat_rows(work.anchor[name], len(work.clients)) for name in self.network.parameters]
        scratch = {name: buffer.clone() for name, buffer in work.buffers.items()}
        _, grads = self.whole_pass(work, schedule, at, scratch)
        return dict(zip(self.network.parameters, grads, strict=True))

    def full_batch_step(
        self, work: LocalWork, params: list[torch.Tensor], state: State, schedule: Schedule
    ) -> torch.Tensor:
        losses, grads = self.whole_pass(work, schedule, params, work.buffers, augment=True)
        self.clip(grads)
        self.optimizer.update(params, grads, state, 1)
        work.steps = work.steps.clamp(max=1)
        return losses

    def whole_pass(
        self, work: LocalWork, schedule: Schedule, at: list[torch.Tensor], buffers: Tensors, *, augment: bool = False
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Losses and gradients there over all samples of each client, batch after batch; `buffers` see every batch."""
        total = [torch.zeros_like(param) for param in at]
        sizes = torch.tensor(work.samples, dtype=self.samples.x.dtype, device=self.samples.x.device)
        sums = torch.zeros_like(sizes)
        for batch in self.until_stopped(work, schedule.first_epoch()):
            rows = batch.rows
            own = {name: buffer[rows] for name, buffer in buffers.items()}
            params = [param[rows] for param in at]
            losses, grads = self.batch_gradients(work, params, own, batch, -1 - batch.step, augment=augment)
            shares = batch.counts.to(sizes) / sizes[rows]
            sums[rows] += losses * shares
            for sum_, gradient in zip(total, grads, strict=True):
                sum_[rows] += gradient * shares.view(-1, *[1] * (gradient.ndim - 1))
            if not isinstance(rows, slice):
                write_rows(list(buffers.values()), list(own.values()), rows)
        return sums, total

    def mean_loss(
        self, work: LocalWork, clients: Sequence[ClientData], part: Part, model: Tensors
    ) -> tuple[torch.Tensor, torch.Tensor]:
        def take(rows: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            x, y = self.samples.take(index)
            return x, self.rule.targets(work, rows, y)

        parts = [client.train if part == "train" else client.validation for client in clients]
        with self.network.keyed_generator(work.dropout_keys ^ EVALUATION):
            return mean_losses(self.network, model, parts, take, self.spec.local.batch_size)

    def step(self, work: LocalWork, params: list[torch.Tensor], state: State, batch: Batch) -> torch.Tensor:
        """One step of the batch's rows: views of the stack where rows are a slice, otherwise copies written back."""
        rows, own, moments = batch.rows, params, state
        if len(batch.index) < len(work.clients):
            own = [param[rows] for param in params]
            moments = {slot: [tensor[rows] for tensor in tensors] for slot, tensors in state.items()}
        losses = self.optimizer_step(work, own, moments, batch)
        if not isinstance(rows, slice):
            write_rows(params, own, rows)
            for slot, tensors in state.items():
                write_rows(tensors, moments[slot], rows)
        return losses

    def optimizer_step(self, work: LocalWork, own: list[torch.Tensor], moments: State, batch: Batch) -> torch.Tensor:
        rows = batch.rows
        buffers = {name: buffer[rows] for name, buffer in work.buffers.items()}
        losses, grads = self.batch_gradients(work, own, buffers, batch, batch.step, augment=True)
        self.add_terms(work, own, grads, rows)
        if self.rule.changes_gradients:
            self.rule.gradient(work, self.local_step(batch, own, grads))
        self.clip(grads)
        self.optimizer.update(own, grads, moments, batch.step + 1)
        for name, param in zip(self.network.parameters, own, strict=True):
            if name in work.terms.step:
                param.sub_(work.terms.step[name][rows])
        if self.rule.changes_steps:
            self.rule.stepped(work, self.local_step(batch, own, grads))
        if not isinstance(rows, slice):
            write_rows(list(work.buffers.values()), list(buffers.values()), rows)
        return losses

    def clip(self, grads: list[torch.Tensor]) -> None:
        """As `torch.nn.utils.clip_grad_norm_` has it, for each client of the stack."""
        longest = self.spec.local.clip_norm
        if longest is not None:
            squares = torch.stack([gradient.flatten(1).square().sum(1) for gradient in grads]).sum(0)
            factors = (longest / (squares.sqrt() + 1e-6)).clamp(max=1)
            for gradient in grads:
                gradient.mul_(factors.view(-1, *[1] * (gradient.ndim - 1)))

    def add_terms(self, work: LocalWork, params: list[torch.Tensor], grads: list[torch.Tensor], rows: Rows) -> None:
        for name, param, gradient in zip(self.network.parameters, params, grads, strict=True):
            if work.terms.pull:
                gradient.add_(param - work.anchor[name], alpha=work.terms.pull)
            if name in work.terms.gradient:
                gradient.add_(work.terms.gradient[name][rows])

    def batch_gradients(
        self, work: LocalWork, params: list[torch.Tensor], buffers: Tensors, batch: Batch, step: int, *, augment: bool
    ) -> Gradients:
        """Every draw of the forward pass is keyed by client, round and `step`."""
        x, _ = self.samples.take(batch.index)
        if augment and self.augmentation is not None and work.augment_keys is not None:
            x = self.augmentation.apply(x, rows_of_keys(work.augment_keys, batch.rows), batch.step)
        y = self.rule.targets(work, batch.rows, batch.labels)
        weights = self.weights(batch, y)
        loss_of = self.rule_losses(work, batch, x, y, weights) if self.rule.changes_losses else None
        if not self.network.keys and not self.network.draws:
            return self.gradients(self.network, params, buffers, x, y, weights, loss_of)
        keys = work.dropout_keys[batch.rows] + step_offset(step)
        with self.network.keyed_generator(keys):
            return self.gradients(self.network, params, self.network.with_keys(buffers, keys), x, y, weights, loss_of)

    def rule_losses(
        self, work: LocalWork, batch: Batch, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None
    ) -> LossFunction:
        def losses(logits: torch.Tensor, representations: torch.Tensor) -> torch.Tensor:
            predictions = Predictions(
                batch.rows,
                y,
                logits,
                representations,
                cross_entropy=lambda given: self.network.cross_entropy(given, y),
                representations_of=lambda model: self.network.representations(model, x),
            )
            each = self.rule.losses(work, predictions)
            # Padding is another client's samples, which may be without end by a rule of this one.
            return each if weights is None else torch.where(weights > 0, each, 0)

        return losses

    def local_step(self, batch: Batch, params: list[torch.Tensor], grads: list[torch.Tensor]) -> LocalStep:
        names = self.network.parameters
        return LocalStep(
            batch.step, batch.rows, dict(zip(names, params, strict=True)), dict(zip(names, grads, strict=True))
        )


def rows_of_keys(keys: np.ndarray, rows: Rows) -> np.ndarray:
    chosen: np.ndarray = keys[rows if isinstance(rows, slice) else rows.cpu().numpy()]
    return chosen


def repeat_rows(tensor: torch.Tensor, times: int) -> torch.Tensor:
    return tensor.expand(times, *tensor.shape).clone()


def write_rows(stacks: list[torch.Tensor], values: list[torch.Tensor], rows: torch.Tensor) -> None:
    for stack, value in zip(stacks, values, strict=True):
        stack[rows] = value
