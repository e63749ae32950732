from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from workers.models._blocks import GlobalPool, Residual, conv_norm, he_initialised
from workers.models._options import DeepOptions, Norm


def resnet(channels: int, stages: Sequence[int], per_stage: int, classes: int, options: DeepOptions) -> nn.Module:
    layers, inputs = stem(channels, stages[0], options), stages[0]
    for stage, outputs in enumerate(stages):
        for block in range(per_stage):
            stride = 2 if stage and not block else 1
            layers.append(basic_block(inputs, outputs, stride, options.norm))
            inputs = outputs
    return he_initialised(nn.Sequential(*layers, GlobalPool(), nn.Linear(inputs, classes)))


def stem(channels: int, outputs: int, options: DeepOptions) -> list[nn.Module]:
    if options.stem == "cifar":
        return [*conv_norm(channels, outputs, 3, options.norm), nn.ReLU()]
    return [*conv_norm(channels, outputs, 7, options.norm, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]


def basic_block(inputs: int, outputs: int, stride: int, norm: Norm) -> nn.Module:
    first = conv_norm(inputs, outputs, 3, norm, stride=stride)
    body = nn.Sequential(*first, nn.ReLU(), *conv_norm(outputs, outputs, 3, norm))
    same = stride == 1 and inputs == outputs
    shortcut = nn.Identity() if same else nn.Sequential(*conv_norm(inputs, outputs, 1, norm, stride=stride))
    return Residual(body, shortcut, nn.ReLU())
