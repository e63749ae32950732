"""The ClientApp of the Flower contender. A module of its own, so that each Ray actor keeps its data between rounds."""

from __future__ import annotations

import os
from functools import cache

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch import nn

from benchmarks.shapes import SHAPES, Shape, build, tensors

SHAPE = "TRIBUTARY_BENCH_SHAPE"
THREADS = "TRIBUTARY_BENCH_THREADS"

app = ClientApp()


@cache
def prepared() -> tuple[Shape, nn.Module, torch.Tensor, torch.Tensor]:
    torch.set_num_threads(int(os.environ[THREADS]))
    shape = SHAPES[os.environ[SHAPE]]
    return shape, build(shape), *tensors(shape)


@app.train()
def train(message: Message, context: Context) -> Message:
    shape, model, x, y = prepared()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    first = int(context.node_config["partition-id"]) * shape.samples
    losses = local_epochs(model, x[first : first + shape.samples], y[first : first + shape.samples], shape)
    metrics = MetricRecord({"train_loss": losses, "num-examples": shape.samples})
    content = RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=message)


def local_epochs(model: nn.Module, x: torch.Tensor, y: torch.Tensor, shape: Shape) -> float:
    optimizer = torch.optim.SGD(model.parameters(), lr=shape.lr)
    total = 0.0
    for _ in range(shape.epochs):
        order = torch.randperm(len(y))
        for batch in order.split(shape.batch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total
