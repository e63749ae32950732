from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from workers.catalog.component import Shape
from workers.models._families import Conv, DeepNet, WidthOptions, scaled_channels

if TYPE_CHECKING:
    import torch

STEM = (32, 64)
ENTRY = (128, 256, 728)
MIDDLE_BLOCKS = 8
EXIT = (728, 1024)
LAST = (1536, 2048)


class SeparableBlock(NamedTuple):
    """Separable convolutions through these channel counts beside a shortcut; a halving one pools."""

    planes: tuple[int, ...]
    halves: bool


class Xception(DeepNet):
    """Xception: depthwise separable convolutions with residual shortcuts in an entry, a middle and an exit flow.

    20,827,442 parameters with ten classes. As published it needs large pictures; here the two stem convolutions are
    padded, so that 32 x 32 leaves one pixel, and the `cifar` stem keeps the size in the first one.
    """

    name = "xception"
    label = "Xception"
    paper = "Chollet: Xception: Deep Learning with Depthwise Separable Convolutions, CVPR 2017"
    Params = WidthOptions

    def convs(self, channels: int, params: Any) -> Iterator[Conv]:
        stem = [channels, *(scaled_channels(plane, params.width) for plane in STEM)]
        yield Conv(stem[0], stem[1], 3)
        yield Conv(stem[1], stem[2], 3)
        for block in separable_blocks(params.width):
            if block.halves:
                yield Conv(block.planes[0], block.planes[-1], 1)
            for inputs, outputs in pairwise(block.planes):
                yield from separable_convs(inputs, outputs)
        planes = [block.planes[-1], *(scaled_channels(plane, params.width) for plane in LAST)]
        yield from separable_convs(planes[0], planes[1])
        yield from separable_convs(planes[1], planes[2])

    def features(self, params: Any) -> int:
        return scaled_channels(LAST[-1], params.width)

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._deep_networks import xception

        stem, last = ([scaled_channels(plane, params.width) for plane in planes] for planes in (STEM, LAST))
        return xception([shape[0], *stem], list(separable_blocks(params.width)), last, classes, params)


def separable_blocks(width: float) -> Iterator[SeparableBlock]:
    inputs = scaled_channels(STEM[-1], width)
    for channels in ENTRY:
        outputs = scaled_channels(channels, width)
        yield SeparableBlock((inputs, outputs, outputs), halves=True)
        inputs = outputs
    for _ in range(MIDDLE_BLOCKS):
        yield SeparableBlock((inputs,) * 4, halves=False)
    yield SeparableBlock((inputs, *(scaled_channels(channels, width) for channels in EXIT)), halves=True)


def separable_convs(inputs: int, outputs: int) -> Iterator[Conv]:
    yield Conv(inputs, inputs, 3, groups=inputs, norm=False)
    yield Conv(inputs, outputs, 1)
