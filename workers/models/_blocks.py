"""Building blocks of the models: activations, normalisations, small networks.

All of it works under torch.func.vmap: nothing in place on inputs, no control flow that depends on data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from workers.models._families import Activation, LayerOptions, Norm

CHANNELS_PER_GROUP = 8
MOST_GROUPS = 32


def activation_layer(options: LayerOptions) -> nn.Module:
    makers: dict[Activation, Callable[[], nn.Module]] = {
        "relu": nn.ReLU,
        "leaky": lambda: nn.LeakyReLU(options.slope),
        "prelu": nn.PReLU,
        "gelu": nn.GELU,
        "elu": lambda: nn.ELU(options.alpha),
        "tanh": nn.Tanh,
    }
    return makers[options.activation]()


def groups_of(channels: int) -> int:
    """The most groups, up to 32, that divide the channels and have at least 8 each; otherwise one group."""
    most = max(1, min(MOST_GROUPS, channels // CHANNELS_PER_GROUP))
    return next(groups for groups in range(most, 0, -1) if channels % groups == 0)


def plane_norm(name: Norm, channels: int) -> nn.Module:
    """Of pictures. Layer normalisation is over channels, height and width, with a scale and shift per channel."""
    if name == "batch":
        return nn.BatchNorm2d(channels)
    return nn.GroupNorm(1 if name == "layer" else groups_of(channels), channels)


def feature_norm(name: Norm, features: int) -> nn.Module:
    if name == "batch":
        return nn.BatchNorm1d(features)
    return nn.LayerNorm(features) if name == "layer" else nn.GroupNorm(groups_of(features), features)


def dense_layers(sizes: Sequence[int], norm: Norm, options: LayerOptions) -> list[nn.Module]:
    """Hidden layers and the last linear one."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes[:-1]):
        layers.append(nn.Linear(inputs, outputs))
        if norm != "none":
            layers.append(feature_norm(norm, outputs))
        layers.append(activation_layer(options))
        if options.dropout:
            layers.append(nn.Dropout(options.dropout))
    return [*layers, nn.Linear(sizes[-2], sizes[-1])]


def mlp(inputs: int, hidden: Sequence[int], outputs: int, options: LayerOptions) -> nn.Module:
    return nn.Sequential(nn.Flatten(), *dense_layers([inputs, *hidden, outputs], options.norm, options))


def conv_net(
    planes: Sequence[int],
    kernel: int,
    padding: int,
    sizes: tuple[int, Sequence[int], int],
    options: LayerOptions,
) -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(planes):
        layers.append(nn.Conv2d(inputs, outputs, kernel, padding=padding))
        if options.norm != "none":
            layers.append(plane_norm(options.norm, outputs))
        layers += [activation_layer(options), nn.MaxPool2d(2)]
    features, hidden, last = sizes
    return nn.Sequential(*layers, nn.Flatten(), *dense_layers([features, *hidden, last], "none", options))


class OneLogit(nn.Module):
    """From one logit z to two, (0, z): their softmax is the sigmoid of z, so cross entropy is binary cross entropy."""

    def forward(self, logit: Tensor) -> Tensor:
        return nn.functional.pad(logit, (1, 0))


class GlobalPool(nn.Module):
    """Average over height and width."""

    def forward(self, planes: Tensor) -> Tensor:
        return planes.mean((-2, -1))


def conv_norm(inputs: int, outputs: int, kernel: int, norm: Norm, **options: Any) -> list[nn.Module]:
    """A convolution without bias that keeps the size (but for its stride), and its normalisation."""
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False, **options)
    return [conv, plane_norm(norm, outputs)]


def initialise_he(model: nn.Module) -> nn.Module:
    """Convolutions as in He et al. 2015 (fan out), for deep networks."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


class Residual(nn.Module):
    """last(body(x) + shortcut(x))."""

    def __init__(self, body: nn.Module, shortcut: nn.Module, last: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut, self.last = body, shortcut, last

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(torch.add(self.body(x), self.shortcut(x)))
        return result
