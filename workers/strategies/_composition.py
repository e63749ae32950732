"""A strategy from pieces: what clients do, how their models become one, and what the server makes of that one.

Pieces hold parameters only. What is remembered from round to round is in the server's `state`, by the name that a
piece gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from flwr.app import ArrayRecord, RecordDict

from workers.engine.messages.arrays import Tensors
from workers.engine.server.averaging import Averaging
from workers.engine.server.method import MethodContext
from workers.engine.training.rule import Contribution, LocalRule, LocalStep, LocalWork, Predictions, Terms
from workers.engine.training.schedule import Rows


class Aggregation:
    """The mean weighted by samples. `combine` says what others make of the replies, buffers included."""

    def combine(self, server: ComposedServer, replies: Sequence[RecordDict]) -> Tensors:
        return server.mean(replies)


class ServerStep:
    """Takes the aggregated model as it is. Others say in `new_value` where a parameter goes; buffers never step."""

    def new_model(self, server: ComposedServer, proposal: Tensors, replies: Sequence[RecordDict]) -> Tensors:
        return {
            name: value if name in server.buffers else self.new_value(server, name, value)
            for name, value in proposal.items()
        }

    def new_value(self, server: ComposedServer, name: str, proposal: torch.Tensor) -> torch.Tensor:
        return proposal


class Companion:
    """What a client rule needs of the server besides an average."""

    def initial_state(self, context: MethodContext) -> Tensors:
        return {}

    def request(self, server: ComposedServer) -> dict[str, ArrayRecord]:
        """Records that go to the clients along with the model."""
        return {}

    def collect(self, server: ComposedServer, replies: Sequence[RecordDict], proposal: Tensors) -> Tensors:
        """Takes in what the clients sent along, and may change the aggregated model."""
        return proposal


class ComposedServer(Averaging):
    transient: ClassVar[tuple[str, ...]] = (*Averaging.transient, "round")

    def __init__(
        self,
        context: MethodContext,
        aggregation: Aggregation | None = None,
        step: ServerStep | None = None,
        companion: Companion | None = None,
    ) -> None:
        super().__init__(context)
        self.aggregation, self.step, self.companion = (
            aggregation or Aggregation(),
            step or ServerStep(),
            companion or Companion(),
        )
        self.clients, self.samples = len(context.samples), sum(context.samples.values())
        self.state = self.companion.initial_state(context)
        self.round = 0

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        return {**super().request(server_round, arrays), **self.companion.request(self)}

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        self.round = server_round
        proposal = self.companion.collect(self, replies, self.aggregation.combine(self, replies))
        return self.step.new_model(self, proposal, replies)


def join_rules(*rules: LocalRule | None) -> LocalRule:
    """One rule that does what each of these does, in this order."""
    given = [rule for rule in rules if rule is not None]
    return given[0] if len(given) == 1 else JoinedRule(given) if given else LocalRule()


class JoinedRule(LocalRule):
    """Terms add up, labels go through every rule, contributions are sent together; the first names the reply.

    The loss is that of the first rule which has one of its own.
    """

    changes_losses = changes_gradients = changes_steps = changes_targets = False

    def __init__(self, rules: Sequence[LocalRule]) -> None:
        self.rules = list(rules)
        self.changes_losses = any(rule.changes_losses for rule in rules)
        self.changes_gradients = any(rule.changes_gradients for rule in rules)
        self.changes_steps = any(rule.changes_steps for rule in rules)
        self.changes_targets = any(rule.changes_targets for rule in rules)
        self.full_batch = any(rule.full_batch for rule in rules)

    def start(self, work: LocalWork) -> None:
        for rule in self.rules:
            rule.start(work)

    def terms(self, work: LocalWork) -> Terms:
        terms = [rule.terms(work) for rule in self.rules]
        return Terms(
            sum(each.pull for each in terms),
            sum_by_name([dict(each.gradient) for each in terms]),
            sum_by_name([dict(each.step) for each in terms]),
        )

    def targets(self, work: LocalWork, rows: Rows, labels: torch.Tensor) -> torch.Tensor:
        for rule in self.rules:
            labels = rule.targets(work, rows, labels)
        return labels

    def losses(self, work: LocalWork, predictions: Predictions) -> torch.Tensor:
        return next(rule for rule in self.rules if rule.changes_losses).losses(work, predictions)

    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        for rule in self.rules:
            if rule.changes_gradients:
                rule.gradient(work, step)

    def stepped(self, work: LocalWork, step: LocalStep) -> None:
        for rule in self.rules:
            if rule.changes_steps:
                rule.stepped(work, step)

    def finish(self, work: LocalWork) -> Contribution:
        contributions = [rule.finish(work) for rule in self.rules]
        return Contribution(
            {name: tensors for each in contributions for name, tensors in each.arrays.items()},
            {name: values for each in contributions for name, values in each.metrics.items()},
        )

    def reply_name(self, work: LocalWork) -> str | None:
        return self.rules[0].reply_name(work)


def sum_by_name(parts: Sequence[Tensors]) -> Tensors:
    total: Tensors = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total[name] + value if name in total else value
    return total
