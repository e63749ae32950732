"""The ClientApp of the Flower contender. A module of its own, so that each Ray actor keeps its data between rounds."""

from __future__ import annotations

import os
from functools import cache

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch import nn

from benchmarks.engine.shapes import SHAPES, Shape, build_model, make_tensors

SHAPE = "TRIBUTARY_BENCH_SHAPE"
THREADS = "TRIBUTARY_BENCH_THREADS"

app = ClientApp()


@cache
def load_federation() -> tuple[Shape, nn.Module, torch.Tensor, torch.Tensor]:
    torch.set_num_threads(int(os.environ[THREADS]))
    shape = SHAPES[os.environ[SHAPE]]
    return shape, build_model(shape), *make_tensors(shape)


@app.train()
def train(message: Message, context: Context) -> Message:
    shape, model, x, y = load_federation()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    first = int(context.node_config["partition-id"]) * shape.samples
    losses = train_epochs(model, x[first : first + shape.samples], y[first : first + shape.samples], shape)
    metrics = MetricRecord({"train_loss": losses, "num-examples": shape.samples})
    content = RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=message)


def train_epochs(model: nn.Module, x: torch.Tensor, y: torch.Tensor, shape: Shape) -> float:
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
