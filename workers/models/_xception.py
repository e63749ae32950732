from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from torch import nn

from workers.models._blocks import GlobalPool, Residual, conv_norm, he_initialised
from workers.models._options import Norm, WidthOptions

if TYPE_CHECKING:
    from workers.models.xception import Block


def xception(
    stem: Sequence[int], blocks: Sequence[Block], last: Sequence[int], classes: int, options: WidthOptions
) -> nn.Module:
    stride = 2 if options.stem == "imagenet" else 1
    layers = [*conv_norm(stem[0], stem[1], 3, options.norm, stride=stride), nn.ReLU()]
    layers += [*conv_norm(stem[1], stem[2], 3, options.norm), nn.ReLU()]
    # The stem has just been rectified, so the first block does not begin with an activation.
    layers += [block_of(block, options.norm, rectify_first=bool(number)) for number, block in enumerate(blocks)]
    for inputs, outputs in pairwise([blocks[-1].planes[-1], *last]):
        layers += [*separable(inputs, outputs, options.norm), nn.ReLU()]
    return he_initialised(nn.Sequential(*layers, GlobalPool(), nn.Linear(last[-1], classes)))


def separable(inputs: int, outputs: int, norm: Norm) -> list[nn.Module]:
    depthwise = nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False)
    return [depthwise, *conv_norm(inputs, outputs, 1, norm)]


def block_of(block: Block, norm: Norm, *, rectify_first: bool) -> nn.Module:
    layers: list[nn.Module] = []
    for number, (inputs, outputs) in enumerate(pairwise(block.planes)):
        rectified = [nn.ReLU()] if number or rectify_first else []
        layers += [*rectified, *separable(inputs, outputs, norm)]
    if not block.halves:
        return Residual(nn.Sequential(*layers), nn.Identity(), nn.Identity())
    shortcut = nn.Sequential(*conv_norm(block.planes[0], block.planes[-1], 1, norm, stride=2))
    return Residual(nn.Sequential(*layers, nn.MaxPool2d(3, 2, padding=1)), shortcut, nn.Identity())
