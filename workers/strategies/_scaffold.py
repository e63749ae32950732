from __future__ import annotations

from collections.abc import Sequence

import torch
from flwr.app import ArrayRecord, RecordDict

from workers.engine.messages.arrays import Tensors, record_of, weighted_mean
from workers.engine.messages.message_keys import SAMPLES
from workers.engine.server.averaging import array_record, metric
from workers.engine.server.method import MethodContext
from workers.engine.training.rule import Contribution, LocalRule, LocalWork, Terms
from workers.strategies._composition import Companion, ComposedServer

CONTROL = "control"


class GradientCorrection(LocalRule):
    """Gradient - c_i + c; afterwards a new c_i, whose change is sent along with the model."""

    def __init__(self, option: int) -> None:
        self.option = option

    def start(self, work: LocalWork) -> None:
        server = work.received[CONTROL]
        own = {
            name: work.store.read(work.clients, stored_name(name), torch.zeros_like(value))
            for name, value in server.items()
        }
        work.rule["own"] = own
        work.rule["correction"] = {name: server[name] - value for name, value in own.items()}

    def terms(self, work: LocalWork) -> Terms:
        return Terms(gradient=work.rule["correction"])

    def finish(self, work: LocalWork) -> Contribution:
        new = work.full_gradient() if self.option == 1 else self.average_gradient(work)
        for name, value in new.items():
            work.store.write(work.clients, stored_name(name), value)
        change = {name: value - work.rule["own"][name] for name, value in new.items()}
        return Contribution({CONTROL: change})

    def average_gradient(self, work: LocalWork) -> Tensors:
        """c_i - c + (w_t - w_i) / (a_i lr): the corrected steps undone, over as many gradients as they were worth.

        Without momentum a_i is the number of steps, the paper's option 2. A client that took no step keeps its c_i.
        """
        distance = (self.gradients_worth(work) * work.optimizer.lr).to(next(iter(work.params.values())))
        result = {}
        for name, own in work.rule["own"].items():
            over = distance.view(-1, *[1] * (own.ndim - 1))
            mean = (work.anchor[name] - work.params[name]) / over - work.rule["correction"][name]
            result[name] = torch.where(over > 0, mean, own)
        return result

    def gradients_worth(self, work: LocalWork) -> torch.Tensor:
        return work.optimizer.effective_steps(work.steps)


class StepCorrection(GradientCorrection):
    """The optimizer never sees the correction: w_i moves by lr (c_i - c) after each of its steps."""

    def terms(self, work: LocalWork) -> Terms:
        return Terms(step={name: work.optimizer.lr * each for name, each in work.rule["correction"].items()})

    def gradients_worth(self, work: LocalWork) -> torch.Tensor:
        return work.steps.double()


class ControlVariates(Companion):
    """c <- c + sum over the cohort of p_i (new c_i - old c_i), sent to the clients along with the model.

    p_i is the client's share of all clients: of the samples, or 1/N where `uniform`. c is kept under `prefix` and the
    parameter's name.
    """

    def __init__(self, *, uniform: bool, prefix: str = "") -> None:
        self.uniform, self.prefix = uniform, prefix

    def initial_state(self, context: MethodContext) -> Tensors:
        names = [name for name in context.initial if name not in context.buffers]
        return {self.prefix + name: torch.zeros_like(context.initial[name]) for name in names}

    def control(self, server: ComposedServer) -> Tensors:
        names = [name for name in server.sent if name not in server.buffers]
        return {name: server.state[self.prefix + name] for name in names}

    def request(self, server: ComposedServer) -> dict[str, ArrayRecord]:
        return {CONTROL: record_of(self.control(server))}

    def collect(self, server: ComposedServer, replies: Sequence[RecordDict], proposal: Tensors) -> Tensors:
        sizes = [1.0 if self.uniform else metric(reply, SAMPLES) for reply in replies]
        whole = server.clients if self.uniform else server.samples
        control, changes = self.control(server), [array_record(reply, CONTROL) for reply in replies]
        change = weighted_mean(changes, [size / whole for size in sizes], list(control))
        server.state |= {self.prefix + name: value + change[name] for name, value in control.items()}
        return proposal


def stored_name(name: str) -> str:
    return f"{CONTROL}/{name}"
