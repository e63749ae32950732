from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import nn

from workers.models._blocks import GlobalPool, Residual, conv_norm, he_initialised
from workers.models._options import Norm

if TYPE_CHECKING:
    from workers.models.mobilenet_v2 import Block, MobileNetV2Parameters


def mobilenet_v2(
    channels: int, blocks: Sequence[Block], last: int, classes: int, options: MobileNetV2Parameters
) -> nn.Module:
    stride = 2 if options.stem == "imagenet" else 1
    layers = [*conv_norm(channels, blocks[0].inputs, 3, options.norm, stride=stride), nn.ReLU6()]
    layers += [inverted_residual(block, options.norm) for block in blocks]
    layers += [*conv_norm(blocks[-1].outputs, last, 1, options.norm), nn.ReLU6(), GlobalPool()]
    if options.dropout:
        layers.append(nn.Dropout(options.dropout))
    return he_initialised(nn.Sequential(*layers, nn.Linear(last, classes)))


def inverted_residual(block: Block, norm: Norm) -> nn.Module:
    layers: list[nn.Module] = []
    if block.hidden != block.inputs:
        layers += [*conv_norm(block.inputs, block.hidden, 1, norm), nn.ReLU6()]
    layers += conv_norm(block.hidden, block.hidden, 3, norm, stride=block.stride, groups=block.hidden)
    body = nn.Sequential(*layers, nn.ReLU6(), *conv_norm(block.hidden, block.outputs, 1, norm))
    if block.stride == 1 and block.inputs == block.outputs:
        return Residual(body, nn.Identity(), nn.Identity())
    return body
