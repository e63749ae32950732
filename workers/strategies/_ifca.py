"""IFCA: the first cluster's model is the server's own, the others are in its state and travel beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from flwr.app import ArrayRecord, RecordDict

from workers.engine.messages.arrays import Tensors, record_of
from workers.engine.server.averaging import Averaging, metric
from workers.engine.server.method import MethodContext
from workers.engine.training.network import make_module
from workers.engine.training.rule import Contribution, LocalRule, LocalWork

CHOICE = "cluster"


def cluster_name(at: int) -> str:
    return f"{CHOICE}.{at}"


class ClusterModels(Averaging):
    def __init__(self, context: MethodContext, count: int) -> None:
        super().__init__(context)
        self.count = count
        for at in range(1, count):
            tensors = make_module(context.spec, self.device, draw=at).state_dict()
            self.keep(at, {name: tensors[name] for name in context.initial})

    def keep(self, at: int, model: Tensors) -> None:
        self.state |= {f"{cluster_name(at)}/{name}": tensor for name, tensor in model.items()}

    def models(self, first: Tensors) -> list[Tensors]:
        """Of all clusters, given the first."""
        others = range(1, self.count)
        return [first, *({name: self.state[f"{cluster_name(at)}/{name}"] for name in first} for at in others)]

    def request(self, server_round: int, arrays: ArrayRecord) -> dict[str, ArrayRecord]:
        others = {cluster_name(at): record_of(model) for at, model in enumerate(self.models(self.sent)) if at}
        return {**super().request(server_round, arrays), **others}

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors | None:
        """A cluster that nobody took stays as it is."""
        members: dict[int, list[RecordDict]] = {}
        for reply in replies:
            members.setdefault(round(metric(reply, CHOICE)), []).append(reply)
        means = {at: self.mean(its_replies) for at, its_replies in sorted(members.items())}
        for at, mean in means.items():
            if at:
                self.keep(at, mean)
        self.reported["ifca.clusters"] = float(len(members))
        return means.get(0)

    def final_model(self, model: Tensors, clients: Mapping[int, Tensors]) -> Tensors:
        clusters = enumerate(self.models(model))
        return {f"group.{at}/{name}": tensor for at, own in clusters for name, tensor in own.items()}


class BestCluster(LocalRule):
    """Goes on from the model with the least loss on all that the client trains on; NaN is none."""

    def __init__(self, count: int) -> None:
        self.count = count

    def start(self, work: LocalWork) -> None:
        models = [work.anchor, *(work.received[cluster_name(at)] for at in range(1, self.count))]
        rows = len(work.clients)
        stacks = ({name: tensor.expand(rows, *tensor.shape) for name, tensor in model.items()} for model in models)
        losses = torch.stack([work.mean_loss("train", stack)[0] for stack in stacks])
        work.rule[CHOICE] = losses.nan_to_num(nan=torch.inf).argmin(0).tolist()
        for own in (work.params, work.buffers):
            for name, values in own.items():
                values.copy_(torch.stack([models[at][name] for at in work.rule[CHOICE]]))

    def finish(self, work: LocalWork) -> Contribution:
        return Contribution(metrics={CHOICE: [float(at) for at in work.rule[CHOICE]]})
