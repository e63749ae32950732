"""Groups of clients, found by a probe before the first round; each group has models of its own, called tasks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from workers.catalog import load_catalog
from workers.clustering.grouping import Grouping, group_rows, nearest_group, purity, squared_distances
from workers.engine.messages.arrays import Tensors, record_of, tensors_of
from workers.engine.messages.exchange import tasks_in
from workers.engine.messages.message_keys import CONFIG, ROUND, task_record
from workers.engine.server.averaging import Averaging, array_record, mean_of, weights_of
from workers.engine.server.method import MethodContext, Survey
from workers.errors import FederationError
from workers.spec import RunSpec
from workers.strategies.clustered import ClusterParameters

SHARED_CLIENT = -1


class ClusteredServer(Averaging):
    """FedAvg inside each group, of the group's model. The server's model has them all, named `<task>/<parameter>`."""

    def __init__(self, context: MethodContext, params: ClusterParameters) -> None:
        super().__init__(context)
        self.spec, self.params = context.spec, params
        self.initial, self.classes = context.initial, context.classes
        facts = context.spec.dataset_facts
        self.names = facts.class_names or tuple(map(str, range(facts.classes)))

    @property
    def survey(self) -> Survey:
        return Survey(probe_spec(self.spec, self.params.probe_epochs), self.learn)

    def learn(self, models: Mapping[int, Tensors]) -> tuple[Tensors, dict[str, float]]:
        clients = sorted(models)
        squares = squared_distances(stacked_layers([self.compared_tensors(models[client]) for client in clients]))
        late = late_rows(clients, self.params.late_clients)
        early = np.flatnonzero(~late)
        eps = None if self.params.eps == "auto" else self.params.eps
        grouping = group_rows(
            squares[np.ix_(early, early)], eps=eps, min_samples=self.params.min_samples, noise=self.params.noise
        )
        groups = [early[list(rows)] for rows in grouping.groups]
        self.remember(clients, late, early, grouping, assign_groups(squares, groups, np.flatnonzero(late)))
        start = {f"{task}/{name}": tensor for task in self.tasks(1) for name, tensor in self.initial.items()}
        counts = {"groups": len(groups), "purity": self.findings["purity"], "noise": len(grouping.noise)}
        return start, {f"{self.spec.strategy.name}.{name}": float(value) for name, value in counts.items()}

    def compared_tensors(self, model: Tensors) -> Tensors:
        """What of a probe says how near its client is to another."""
        if self.params.compare == "weights":
            return model
        name = list(model)[-1]
        if model[name].ndim != 1:
            raise FederationError(
                f"The last layer of {self.spec.model.name} has no biases to compare clients by: take another model, or "
                "compare: weights."
            )
        return {name: model[name]}

    def remember(
        self, clients: Sequence[int], late: np.ndarray, early: np.ndarray, grouping: Grouping, group: np.ndarray
    ) -> None:
        noise = np.isin(np.arange(len(clients)), early[list(grouping.noise)])
        self.state = {
            "clients": torch.tensor(clients),
            "group": torch.from_numpy(group),
            "late": torch.from_numpy(late),
            "noise": torch.from_numpy(noise),
            "eps": torch.tensor(grouping.eps, dtype=torch.float64),
            "edges": torch.tensor(grouping.edges, dtype=torch.float64),
        }

    def groups(self, number: int) -> list[list[int]]:
        """The clients of each group that have joined by that round; none before the survey."""
        members: list[list[int]] = []
        for client, group, late in self.members():
            members += [[] for _ in range(group + 1 - len(members))]
            if not late or number >= self.params.late_round:
                members[group].append(client)
        return members

    def members(self) -> Iterator[tuple[int, int, bool]]:
        if self.state:
            yield from zip(*(self.state[name].tolist() for name in ("clients", "group", "late")), strict=True)

    def tasks_of(self, group: int, members: Sequence[int]) -> list[str]:
        """The models that these clients of the group train; one unless a subclass has more."""
        return [str(group)]

    def tasks(self, number: int) -> list[str]:
        return [task for at, members in enumerate(self.groups(number)) for task in self.tasks_of(at, members)]

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self.sent = tensors_of(arrays)
        config[ROUND] = server_round
        store, contents = models_by_task(self.sent), {}
        for at, members in enumerate(self.groups(server_round)):
            records = {
                task_record(task): record_of(store.get(task, self.initial)) for task in self.unfinished(at, members)
            }
            content = RecordDict({**records, CONFIG: config})
            contents.update(dict.fromkeys(members, content) if records else {})
        nodes = [(node, grid.client(node)) for node in grid.get_node_ids()]  # type: ignore[attr-defined]
        return [Message(contents[client], node, MessageType.TRAIN) for node, client in nodes if client in contents]

    def unfinished(self, group: int, members: Sequence[int]) -> list[str]:
        """Those of the group's tasks that are still trained."""
        return self.tasks_of(group, members)

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        replies_by_task: dict[str, list[RecordDict]] = {}
        for reply in replies:
            for task in tasks_in(reply):
                replies_by_task.setdefault(task, []).append(reply)
        result = dict(self.sent)
        for task, its_replies in replies_by_task.items():
            records = [array_record(reply, task_record(task)) for reply in its_replies]
            mean = mean_of(records, weights_of(its_replies))
            result |= {f"{task}/{name}": tensor for name, tensor in mean.items()}
        self.note_training(set(replies_by_task))
        return result

    def note_training(self, tasks: Collection[str]) -> None:
        """Called with the tasks that clients trained in a round."""

    def models(self, model: Tensors) -> dict[int, Tensors]:
        """Each client's own group's. A late client is judged by the group it will join."""
        store = models_by_task(model)
        return {client: store[str(group)] for client, group, _ in self.members()}

    def final_model(self, model: Tensors, clients: Mapping[int, Tensors]) -> Tensors:
        tasks = models_by_task(model).items()
        return {f"{self.owner_of(task)}/{name}": tensor for task, own in tasks for name, tensor in own.items()}

    def owner_of(self, task: str) -> str:
        """What the task is called in the file of the run's model."""
        return f"group.{task}"

    @property
    def findings(self) -> dict[str, Any]:
        """Groups, how they came about, and how well they match what the clients hold: the sets of their classes."""
        clients, group = self.state["clients"].tolist(), self.state["group"].tolist()
        rows = [[row for row, own in enumerate(group) if own == at] for at in range(max(group) + 1)]
        truth = [self.classes[client] for client in clients]
        return {
            "groups": [self.group_facts([clients[row] for row in members]) for members in rows],
            "purity": purity(rows, truth),
            "class_sets": len(set(truth)),
            "noise": flagged_clients(clients, self.state["noise"]),
            "late": flagged_clients(clients, self.state["late"]),
            "eps": finite_or_none(self.state["eps"].item()),
            "edges": [finite_or_none(edge) for edge in self.state["edges"].tolist()],
        }

    def group_facts(self, members: Sequence[int]) -> dict[str, Any]:
        return {"members": list(members), "classes": [self.names[each] for each in self.classes_of(members)]}

    def classes_of(self, members: Iterable[int]) -> list[int]:
        return sorted({each for client in members for each in self.classes[client]})


def probe_spec(spec: RunSpec, epochs: int) -> RunSpec:
    """Plain local training of the run's model by everybody; nobody fails to answer."""
    return spec.model_copy(
        update={
            "strategy": load_catalog().strategies["fedavg"].Params(),
            "local": spec.local.model_copy(update={"epochs": epochs, "steps": None}),
            "cohort": None,
            "fraction": 1.0,
            "client_dropout": 0.0,
            "stragglers": 0.0,
        }
    )


def stacked_layers(models: Sequence[Tensors]) -> Iterator[np.ndarray]:
    """Layer by layer, to keep memory low: a row for each model."""
    for name in models[0]:
        yield torch.stack([model[name].flatten() for model in models]).double().cpu().numpy()


def late_rows(clients: Sequence[int], count: int) -> np.ndarray:
    """The last ones; the shared client of hybrid sharing is the server's own and there from the start."""
    late = np.zeros(len(clients), dtype=bool)
    able = [row for row, client in enumerate(clients) if client != SHARED_CLIENT]
    late[able[max(1, len(able) - count) :]] = True
    return late


def assign_groups(squares: np.ndarray, groups: Sequence[np.ndarray], late: np.ndarray) -> np.ndarray:
    """The group of each row: its own, or for one that comes late the nearest."""
    result = np.zeros(len(squares), dtype=np.int64)
    for at, rows in enumerate(groups):
        result[rows] = at
    for row in late.tolist():
        result[row] = nearest_group(squares, [rows.tolist() for rows in groups], row)
    return result


def models_by_task(model: Tensors) -> dict[str, Tensors]:
    store: dict[str, Tensors] = {}
    for path, tensor in model.items():
        task, _, name = path.rpartition("/")
        store.setdefault(task, {})[name] = tensor
    return store


def flagged_clients(clients: Sequence[int], flags: torch.Tensor) -> list[int]:
    return [client for client, flag in zip(clients, flags.tolist(), strict=True) if flag]


def finite_or_none(value: float) -> float | None:
    """Stored as JSON, which has no infinity."""
    return value if math.isfinite(value) else None
