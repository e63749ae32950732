"""One-versus-all detectors: a binary model for each class in each group, and a classifier made of them all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

import torch

from workers.clustering.convergence import has_converged
from workers.engine.messages.arrays import Tensors
from workers.engine.server.method import Forward, MethodContext, Outputs
from workers.engine.training.rule import LocalRule, LocalWork
from workers.engine.training.schedule import Rows
from workers.strategies._clustered import ClusteredServer, finite_or_none, models_by_task

ACCURACY = "athena.detector_accuracy"


def class_of(task: str) -> int:
    return int(task.partition("/")[2])


class DetectorLabels(LocalRule):
    """A sample of the detector's class is 1, any other 0."""

    def start(self, work: LocalWork) -> None:
        classes = [class_of(task) for task in work.tasks if task is not None]
        work.rule["class"] = torch.tensor(classes, device=next(iter(work.params.values())).device)

    def targets(self, work: LocalWork, rows: Rows, labels: torch.Tensor) -> torch.Tensor:
        yes: torch.Tensor = labels == work.rule["class"][rows].unsqueeze(1)
        return yes.long()


class AthenaServer(ClusteredServer):
    """A task is a detector `<group>/<class>`. Beyond its groups the server keeps a table of detectors."""

    def __init__(self, context: MethodContext, params: Any) -> None:
        super().__init__(context, params)
        self.tolerance, self.freeze, self.relative = params.tolerance, params.freeze, params.relative
        self.detector_bytes = sum(tensor.nbytes for tensor in context.initial.values())

    def learn(self, models: Mapping[int, Tensors]) -> tuple[Tensors, dict[str, float]]:
        result = super().learn(models)
        count = len(self.detectors)
        self.state |= {name: torch.zeros(count, dtype=torch.int64) for name in ("rounds", "judged", "converged")}
        self.state["accuracy"] = torch.full((count,), torch.nan, dtype=torch.float64)
        return result

    @property
    def detectors(self) -> list[str]:
        """Every detector there will be, late clients' ones included: the rows of the table."""
        return self.tasks(max(self.spec.rounds, self.params.late_round))

    def tasks_of(self, group: int, members: Sequence[int]) -> list[str]:
        return [f"{group}/{each}" for each in self.classes_of(members)]

    def owner_of(self, task: str) -> str:
        return f"group.{task.replace('/', '.class.')}"

    def unfinished(self, group: int, members: Sequence[int]) -> list[str]:
        tasks = self.tasks_of(group, members)
        if not self.freeze:
            return tasks
        converged = dict(zip(self.detectors, self.state["converged"].tolist(), strict=True))
        return [task for task in tasks if not converged[task]]

    def note_training(self, tasks: Collection[str]) -> None:
        self.state["rounds"] += torch.tensor([task in tasks for task in self.detectors]).to(self.state["rounds"])

    def outputs(self, forward: Forward, model: Tensors, x: torch.Tensor, y: torch.Tensor) -> Outputs:
        odds = {task: log_odds(forward(detector, x)) for task, detector in models_by_task(model).items()}
        right = {task: ((own > 0) == (y == class_of(task))).double() for task, own in odds.items()}
        return Outputs(class_log_odds(odds, len(self.names)), right)

    def group_models(self, model: Tensors) -> dict[int, Tensors]:
        """For each client the detectors of its own group, shared between its members."""
        by_group: dict[int, Tensors] = {}
        for path, tensor in model.items():
            by_group.setdefault(int(path.partition("/")[0]), {})[path] = tensor
        return {client: by_group[group] for client, group, _ in self.members()}

    def judge(self, number: int, accuracies: Mapping[str, float]) -> dict[str, float]:
        """Convergence is looked for between evaluations with training in between, from the first trained model on."""
        for row, task in enumerate(self.detectors):
            rounds = self.state["rounds"][row].item()
            if task in accuracies and rounds > self.state["judged"][row].item():
                self.judge_detector(row, accuracies[task])
        by_class: dict[str, list[float]] = {}
        for task, accuracy in accuracies.items():
            by_class.setdefault(self.names[class_of(task)], []).append(accuracy)
        return {
            ACCURACY: mean(accuracies.values()),
            "athena.converged": float((self.state["converged"] > 0).sum()),
            **{f"{ACCURACY}.{name}": mean(values) for name, values in by_class.items()},
        }

    def judge_detector(self, row: int, accuracy: float) -> None:
        table, rounds = self.state, self.state["rounds"][row]
        before = table["accuracy"][row].item()
        if not table["converged"][row] and has_converged(before, accuracy, self.tolerance, relative=self.relative):
            table["converged"][row] = rounds
        table["accuracy"][row] = accuracy
        table["judged"][row] = rounds

    @property
    def findings(self) -> dict[str, Any]:
        findings = super().findings
        return {**findings, **self.detector_table()} if "accuracy" in self.state else findings

    def detector_table(self) -> dict[str, Any]:
        """The detectors; epochs to convergence over those that did; and B_ova, the bytes of a client until then."""
        columns = [self.state[name].tolist() for name in ("rounds", "converged", "accuracy")]
        epochs = [each for each in columns[1] if each]
        bytes_per_client = self.detector_bytes * len(self.names) * mean(epochs) if epochs else None
        return {
            "detectors": [
                detector_facts(task, self.names, *row) for task, *row in zip(self.detectors, *columns, strict=True)
            ],
            "detector_bytes": self.detector_bytes,
            "epochs_mean": mean(epochs) if epochs else None,
            "epochs_std": stdev(epochs) if len(epochs) > 1 else None,
            "bytes_per_client": bytes_per_client,
        }


def detector_facts(task: str, names: Sequence[str], rounds: int, converged: int, accuracy: float) -> dict[str, Any]:
    return {
        "group": int(task.partition("/")[0]),
        "class": names[class_of(task)],
        "accuracy": finite_or_none(accuracy),
        "rounds": rounds,
        "converged": converged or None,
    }


def log_odds(logits: torch.Tensor) -> torch.Tensor:
    """Of the answer yes. They order samples as probabilities do, which round to 1 where a detector is certain."""
    return logits[:, 1] - logits[:, 0]


def class_log_odds(odds: Mapping[str, torch.Tensor], classes: int) -> torch.Tensor:
    """For each class its most certain detector, of whichever group; a class without one is never chosen."""
    best: dict[int, torch.Tensor] = {}
    for task, own in odds.items():
        best[class_of(task)] = torch.maximum(best[class_of(task)], own) if class_of(task) in best else own
    least = torch.stack(list(best.values())).min(0).values - 1
    return torch.stack([best.get(each, least) for each in range(classes)], 1)
