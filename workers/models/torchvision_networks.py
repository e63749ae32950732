"""torchvision's classification networks by name. No torch at module level: counts come from a generated table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from workers.catalog.component import Parameters, Shape
from workers.errors import Problem
from workers.models._families import WithNorm, linear_count, not_a_picture, scaled_channels

if TYPE_CHECKING:
    import torch

    from workers.spec import RunSpec

TABLE = Path(__file__).with_name("_torchvision_layers.json")
"""Written by `python -m workers.models._torchvision_build`."""
LEAST_SIDE = {"imagenet": 29, "cifar": 8}
"""Of pictures for DenseNet, which halves five or three times and pads only the first two; others take any picture."""
CIFAR_KERNEL = 3
FAMILIES = ("resnet", "densenet", "mobilenet", "efficientnet")
DRAW_BY_FUNCTION = {
    "densenet": "after every layer by a function call",
    "efficientnet": "whole blocks of a sample (stochastic depth)",
}
"""How families drop values where stacked clients could not draw each for itself."""

Network = Literal[
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_s",
    "efficientnet_v2_m",
    "efficientnet_v2_l",
]


class TorchvisionOptions(Parameters):
    network: Network = "resnet18"
    """As torchvision names it; with random initial weights, never pretrained ones."""
    norm: Literal["batch", "group", "none"] = "batch"
    """batch as published; group needs no statistics of a client's batch; none leaves normalisation out."""
    stem: Literal["imagenet", "cifar"] = "imagenet"
    """imagenet: as published, halves the picture at once. cifar: a first 3 x 3 convolution that halves nothing."""
    width: float = Field(1.0, gt=0, le=2)
    """Multiplier of all channel counts, rounded down; 1 as published."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share left out at random in training, wherever the network has dropout; ResNets have none."""


class Layer(NamedTuple):
    """Convolutions or linear layers of one form, before `width`: how often they occur, and what they are."""

    inputs: int
    outputs: int
    kernel: int
    depthwise: bool
    bias: bool
    times: int


class Layers(NamedTuple):
    """A network as torchvision has it, but for its first convolution's inputs and its last layer's outputs.

    Channel counts are multiples of `unit`: DenseNet adds channels up, so its width scales the growth rate.
    """

    unit: int
    stem_outputs: int
    stem_kernel: int
    features: int
    layers: list[Layer]
    norms: list[tuple[int, int]]
    """Channels, and how many normalisations have so many."""

    def scaled(self, channels: int, width: float) -> int:
        if self.unit == 1:
            return scaled_channels(channels, width)
        return channels // self.unit * scaled_channels(self.unit, width)

    def body_count(self, width: float, *, with_norms: bool) -> int:
        total = 0
        for layer in self.layers:
            outputs = self.scaled(layer.outputs, width)
            inputs = 1 if layer.depthwise else self.scaled(layer.inputs, width)
            total += layer.times * outputs * (inputs * layer.kernel**2 + layer.bias)
        return total + sum(2 * times * self.scaled(channels, width) for channels, times in self.norms if with_norms)


class Torchvision(WithNorm):
    """A network of torchvision (ResNet, DenseNet, MobileNet or EfficientNet) with random initial weights.

    As published but for `norm`, `stem`, `width` and `dropout`; pictures may have any number of channels. Its modules do
    nothing in place. DenseNet and EfficientNet with dropout draw in a way that cannot be stacked over clients:
    `engine: auto` computes them one client at a time. The models `resnet18` and `mobilenet-v2` are networks of their
    own, for published studies; the latter has the paper's rule for widths.
    """

    name = "torchvision"
    label = "torchvision"
    named_by: ClassVar[tuple[str, ...]] = ("network",)
    Params = TorchvisionOptions

    def refusal(self, shape: Shape, classes: int, params: Any) -> str | None:
        if reason := not_a_picture(shape):
            return reason
        least = LEAST_SIDE[params.stem] if family_of(params.network) == "densenet" else 1
        if min(shape[1:]) >= least:
            return None
        hint = f" With stem: cifar it needs {LEAST_SIDE['cifar']} x {LEAST_SIDE['cifar']}." * (params.stem != "cifar")
        return f"Pictures of {shape[1]} x {shape[2]} are too small: it needs at least {least} x {least}.{hint}"

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from super().problems(spec)
        options: Any = spec.model
        network, dropout, family = options.network, options.dropout, family_of(options.network)
        if dropout and family == "resnet":
            yield Problem("model.dropout", f"{network} has no dropout: leave it 0, or choose another network.")
        if dropout and spec.engine == "cohort" and family in DRAW_BY_FUNCTION:
            yield Problem(
                "engine",
                f"{network} drops {DRAW_BY_FUNCTION[family]}, which cannot be computed for a stack of clients at once. "
                "Choose engine: auto or sequential, or model.dropout: 0.",
            )

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        options = params or self.Params()
        layers = network_layers()[options.network]
        kernel = CIFAR_KERNEL if options.stem == "cifar" else layers.stem_kernel
        stem = shape[0] * layers.scaled(layers.stem_outputs, options.width) * kernel**2
        body = layers.body_count(options.width, with_norms=options.norm != "none")
        return stem + body + linear_count(layers.scaled(layers.features, options.width), classes)

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._torchvision_build import build_network

        return build_network(shape[0], classes, params)


def family_of(network: str) -> str:
    return next(family for family in FAMILIES if network.startswith(family))


@cache
def network_layers() -> dict[str, Layers]:
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text())
    return {network: layers_from(row) for network, row in table.items()}


def layers_from(row: dict[str, Any]) -> Layers:
    layers = [Layer(a, b, kernel, bool(alone), bool(bias), times) for a, b, kernel, alone, bias, times in row["layers"]]
    return Layers(**{**row, "layers": layers, "norms": [(channels, times) for channels, times in row["norms"]]})
