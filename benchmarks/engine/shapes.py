"""The federations that are timed: one definition that every contender reads. Needs numpy and torch only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class Shape:
    """`clients` clients with `samples` samples each; `cohort` of them train `epochs` epochs in each round."""

    name: str
    title: str
    model: str
    input: tuple[int, ...]
    classes: int
    clients: int
    samples: int
    cohort: int
    batch: int
    epochs: int = 1
    lr: float = 0.05


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("logistic", "LR 784x10, 1,000 clients x 60, 10 per round", "logistic", (784,), 10, 1000, 60, 10, 10),
        Shape("cnn", "CNN 32-64-64, 1,000 clients x 50, 50 per round", "cnn-64", (3, 32, 32), 10, 1000, 50, 50, 10),
        Shape("har", "MLP 561-50-6, 21 clients x 350, 5 epochs", "mlp-50", (561,), 6, 21, 350, 21, 32, epochs=5),
        Shape("memory", "CNN 32-64-100, 3,597 clients, 539 per round", "cnn-100", (1, 28, 28), 62, 3597, 40, 539, 10),
    )
}


def make_arrays(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """All samples, client after client: client i owns [i * samples, (i + 1) * samples)."""
    rng = np.random.default_rng(0)
    count = shape.clients * shape.samples
    y = rng.integers(shape.classes, size=count)
    x = rng.standard_normal((count, *shape.input), dtype=np.float32)
    return x, y


def make_tensors(shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = make_arrays(shape)
    return torch.from_numpy(x), torch.from_numpy(y)


def build_model(shape: Shape) -> nn.Module:
    torch.manual_seed(0)
    if shape.model == "logistic":
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape.input), shape.classes))
    if shape.model == "mlp-50":
        return nn.Sequential(
            nn.Flatten(), nn.Linear(math.prod(shape.input), 50), nn.ReLU(), nn.Linear(50, shape.classes)
        )
    return build_cnn(shape, hidden=int(shape.model.removeprefix("cnn-")))


def build_cnn(shape: Shape, hidden: int) -> nn.Module:
    channels, height, _ = shape.input
    side = ((height - 2) // 2 - 2) // 2
    return nn.Sequential(
        nn.Conv2d(channels, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * side * side, hidden),
        nn.ReLU(),
        nn.Linear(hidden, shape.classes),
    )
