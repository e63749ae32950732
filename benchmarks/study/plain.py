"""The script people write for a grid: nn.Module, torch.optim, one client after the other, the test set every round.

`python -m benchmarks.study.plain JOB OUT`; JOB is JSON: `data` (an .npz of `federation_file`), `specs` (runs of a
grid), `rounds` (how many of each are timed). OUT gets for each run `setup`, `rounds` (seconds) and `accuracy`.
Needs numpy and torch only.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.engine.shapes import SHAPES, build_model

Tensors = dict[str, torch.Tensor]
TEST_BATCH = 1000
NETWORKS = {"logistic": "logistic", "mlp-50": "har", "cnn-32-64-64": "cnn"}
"""The federation of the engine's benchmarks that has the model."""


def build_optimizer(model: nn.Module, settings: Mapping[str, Any]) -> torch.optim.Optimizer:
    if settings["name"] == "sgd":
        return torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])
    return torch.optim.AdamW(model.parameters(), lr=settings["lr"], weight_decay=settings["weight_decay"])


def share_samples(clients: Sequence[torch.Tensor], ratio: float) -> list[torch.Tensor]:
    """Every client gives int(ratio * n) of its samples to one more client; who has none left takes no part."""
    shuffled = [client[torch.randperm(len(client))] for client in clients]
    counts = [int(ratio * len(client) + 1e-9) for client in clients]
    own = [client[count:] for client, count in zip(shuffled, counts, strict=True)]
    pool = torch.cat([client[:count] for client, count in zip(shuffled, counts, strict=True)])
    return [client for client in [*own, pool] if len(client)]


class PlainRun:
    def __init__(self, spec: Mapping[str, Any], data: Mapping[str, torch.Tensor]) -> None:
        self.model = build_model(SHAPES[NETWORKS[spec["model"]["name"]]])
        torch.manual_seed(spec["seed"])
        self.local, self.cohort, self.data = spec["local"], spec["cohort"], data
        self.classes = int(data["y"].max()) + 1
        own = data["owner"].argsort().split(data["owner"].bincount().tolist())
        self.clients = share_samples(own, spec["hybrid"]["ratio"])
        self.state: Tensors = copy.deepcopy(self.model.state_dict())
        self.accuracy = self.evaluate()

    def advance(self) -> None:
        cohort = torch.randperm(len(self.clients))[: self.cohort or len(self.clients)].tolist()
        total = sum(len(self.clients[client]) for client in cohort)
        mean = {name: torch.zeros_like(value) for name, value in self.state.items()}
        for client in cohort:
            self.model.load_state_dict(self.state)
            self.train(self.clients[client])
            for name, value in self.model.state_dict().items():
                mean[name] += value * (len(self.clients[client]) / total)
        self.state = mean
        self.model.load_state_dict(mean)
        self.accuracy = self.evaluate()

    def train(self, index: torch.Tensor) -> None:
        self.model.train()
        x, y = self.data["x"], self.data["y"]
        optimizer = build_optimizer(self.model, self.local["optimizer"])
        for _ in range(self.local["epochs"]):
            for batch in index[torch.randperm(len(index))].split(self.local["batch_size"]):
                optimizer.zero_grad()
                nn.functional.cross_entropy(self.model(x[batch]), y[batch]).backward()
                optimizer.step()

    @torch.no_grad()
    def evaluate(self) -> float:
        """Loss, accuracy and recalls, as the engine has them; the accuracy is told."""
        self.model.eval()
        confusion, loss = torch.zeros(self.classes**2, dtype=torch.int64), 0.0
        batches = zip(self.data["test_x"].split(TEST_BATCH), self.data["test_y"].split(TEST_BATCH), strict=True)
        for x, y in batches:
            logits = self.model(x)
            loss += nn.functional.cross_entropy(logits, y, reduction="sum").item()
            confusion += torch.bincount(y * self.classes + logits.argmax(1), minlength=self.classes**2)
        return float(confusion.reshape(self.classes, self.classes).diagonal().sum() / confusion.sum())


def time_run(spec: Mapping[str, Any], data: Mapping[str, torch.Tensor], rounds: int) -> dict[str, Any]:
    begun = time.perf_counter()
    run = PlainRun(spec, data)
    ticks = [time.perf_counter()]
    for _ in range(rounds):
        run.advance()
        ticks.append(time.perf_counter())
    return {"setup": ticks[0] - begun, "rounds": np.diff(ticks).tolist(), "accuracy": run.accuracy}


def main(job_file: str, out: str) -> None:
    torch.set_num_threads(1)
    job = json.loads(Path(job_file).read_text())
    with np.load(job["data"]) as file:
        data = {name: torch.from_numpy(file[name]) for name in file.files}
    time_run(job["specs"][0], data, 1)
    Path(out).write_text(json.dumps([time_run(spec, data, job["rounds"]) for spec in job["specs"]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
