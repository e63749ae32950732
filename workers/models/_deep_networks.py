"""The deep networks, built: MobileNet, MobileNetV2, ResNet-18, Xception."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from torch import nn

from workers.models._blocks import GlobalPool, Residual, conv_norm, initialise_he
from workers.models._families import DeepOptions, MobileOptions, Norm, WidthOptions

if TYPE_CHECKING:
    from workers.models.mobilenet_v2 import InvertedBlock
    from workers.models.xception import SeparableBlock


def initialise_network(model: nn.Module, options: DeepOptions) -> nn.Module:
    return initialise_he(model) if options.init == "he" else model


def last_layers(features: int, classes: int, dropout: float) -> list[nn.Module]:
    return [*([nn.Dropout(dropout)] if dropout else []), nn.Linear(features, classes)]


def mobilenet(
    channels: int, first: int, blocks: Sequence[tuple[int, int]], classes: int, options: MobileOptions
) -> nn.Module:
    stride = 2 if options.stem == "imagenet" else 1
    layers = [*conv_norm(channels, first, 3, options.norm, stride=stride), nn.ReLU()]
    inputs = first
    for outputs, stride in blocks:
        layers += [*conv_norm(inputs, inputs, 3, options.norm, stride=stride, groups=inputs), nn.ReLU()]
        layers += [*conv_norm(inputs, outputs, 1, options.norm), nn.ReLU()]
        inputs = outputs
    return initialise_network(
        nn.Sequential(*layers, GlobalPool(), *last_layers(inputs, classes, options.dropout)), options
    )


def mobilenet_v2(
    channels: int, blocks: Sequence[InvertedBlock], last: int, classes: int, options: MobileOptions
) -> nn.Module:
    stride = 2 if options.stem == "imagenet" else 1
    layers = [*conv_norm(channels, blocks[0].inputs, 3, options.norm, stride=stride), nn.ReLU6()]
    layers += [inverted_residual(block, options.norm) for block in blocks]
    layers += [*conv_norm(blocks[-1].outputs, last, 1, options.norm), nn.ReLU6(), GlobalPool()]
    return initialise_network(nn.Sequential(*layers, *last_layers(last, classes, options.dropout)), options)


def inverted_residual(block: InvertedBlock, norm: Norm) -> nn.Module:
    layers: list[nn.Module] = []
    if block.hidden != block.inputs:
        layers += [*conv_norm(block.inputs, block.hidden, 1, norm), nn.ReLU6()]
    layers += conv_norm(block.hidden, block.hidden, 3, norm, stride=block.stride, groups=block.hidden)
    body = nn.Sequential(*layers, nn.ReLU6(), *conv_norm(block.hidden, block.outputs, 1, norm))
    if block.stride == 1 and block.inputs == block.outputs:
        return Residual(body, nn.Identity(), nn.Identity())
    return body


def resnet(channels: int, stages: Sequence[int], per_stage: int, classes: int, options: DeepOptions) -> nn.Module:
    layers, inputs = resnet_stem(channels, stages[0], options), stages[0]
    for stage, outputs in enumerate(stages):
        for block in range(per_stage):
            stride = 2 if stage and not block else 1
            layers.append(basic_block(inputs, outputs, stride, options.norm))
            inputs = outputs
    return initialise_network(nn.Sequential(*layers, GlobalPool(), nn.Linear(inputs, classes)), options)


def resnet_stem(channels: int, outputs: int, options: DeepOptions) -> list[nn.Module]:
    if options.stem == "cifar":
        return [*conv_norm(channels, outputs, 3, options.norm), nn.ReLU()]
    return [*conv_norm(channels, outputs, 7, options.norm, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]


def basic_block(inputs: int, outputs: int, stride: int, norm: Norm) -> nn.Module:
    first = conv_norm(inputs, outputs, 3, norm, stride=stride)
    body = nn.Sequential(*first, nn.ReLU(), *conv_norm(outputs, outputs, 3, norm))
    same = stride == 1 and inputs == outputs
    shortcut = nn.Identity() if same else nn.Sequential(*conv_norm(inputs, outputs, 1, norm, stride=stride))
    return Residual(body, shortcut, nn.ReLU())


def xception(
    stem: Sequence[int], blocks: Sequence[SeparableBlock], last: Sequence[int], classes: int, options: WidthOptions
) -> nn.Module:
    stride = 2 if options.stem == "imagenet" else 1
    layers = [*conv_norm(stem[0], stem[1], 3, options.norm, stride=stride), nn.ReLU()]
    layers += [*conv_norm(stem[1], stem[2], 3, options.norm), nn.ReLU()]
    # The stem has just been rectified, so the first block does not begin with an activation.
    layers += [separable_block(block, options.norm, rectify_first=bool(number)) for number, block in enumerate(blocks)]
    for inputs, outputs in pairwise([blocks[-1].planes[-1], *last]):
        layers += [*separable_layers(inputs, outputs, options.norm), nn.ReLU()]
    return initialise_network(nn.Sequential(*layers, GlobalPool(), nn.Linear(last[-1], classes)), options)


def separable_layers(inputs: int, outputs: int, norm: Norm) -> list[nn.Module]:
    depthwise = nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False)
    return [depthwise, *conv_norm(inputs, outputs, 1, norm)]


def separable_block(block: SeparableBlock, norm: Norm, *, rectify_first: bool) -> nn.Module:
    layers: list[nn.Module] = []
    for number, (inputs, outputs) in enumerate(pairwise(block.planes)):
        rectified = [nn.ReLU()] if number or rectify_first else []
        layers += [*rectified, *separable_layers(inputs, outputs, norm)]
    if not block.halves:
        return Residual(nn.Sequential(*layers), nn.Identity(), nn.Identity())
    shortcut = nn.Sequential(*conv_norm(block.planes[0], block.planes[-1], 1, norm, stride=2))
    return Residual(nn.Sequential(*layers, nn.MaxPool2d(3, 2, padding=1)), shortcut, nn.Identity())
