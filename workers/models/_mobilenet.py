from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from workers.models._blocks import GlobalPool, conv_norm, he_initialised
from workers.models._options import WidthOptions


def mobilenet(
    channels: int, first: int, blocks: Sequence[tuple[int, int]], classes: int, options: WidthOptions
) -> nn.Module:
    stride = 2 if options.stem == "imagenet" else 1
    layers = [*conv_norm(channels, first, 3, options.norm, stride=stride), nn.ReLU()]
    inputs = first
    for outputs, stride in blocks:
        layers += [*conv_norm(inputs, inputs, 3, options.norm, stride=stride, groups=inputs), nn.ReLU()]
        layers += [*conv_norm(inputs, outputs, 1, options.norm), nn.ReLU()]
        inputs = outputs
    return he_initialised(nn.Sequential(*layers, GlobalPool(), nn.Linear(inputs, classes)))
