from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from workers.catalog.component import Shape
from workers.models._families import Conv, DeepNet, MobileOptions

if TYPE_CHECKING:
    import torch

FIRST, LAST = 32, 1280
# Expansion, output channels, repeats and first stride of each sequence of inverted residuals (table 2 of the paper).
SEQUENCES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedBlock(NamedTuple):
    inputs: int
    hidden: int
    outputs: int
    stride: int


class MobileNetV2(DeepNet):
    """MobileNetV2: 17 inverted residual blocks with linear bottlenecks between a 3 x 3 and a 1 x 1 convolution.

    2,236,682 parameters with ten classes. As published it halves the picture five times; the `cifar` stem keeps the
    size in the first convolution. Channel counts are multiples of 8, as in the paper.
    """

    name = "mobilenet-v2"
    label = "MobileNetV2"
    paper = "Sandler et al.: MobileNetV2: Inverted Residuals and Linear Bottlenecks, CVPR 2018"
    Params = MobileOptions

    def convs(self, channels: int, params: Any) -> Iterator[Conv]:
        yield Conv(channels, rounded_channels(FIRST, params.width), 3)
        for block in inverted_blocks(params.width):
            if block.hidden != block.inputs:
                yield Conv(block.inputs, block.hidden, 1)
            yield Conv(block.hidden, block.hidden, 3, groups=block.hidden)
            yield Conv(block.hidden, block.outputs, 1)
        yield Conv(block.outputs, last_channels(params.width), 1)

    def features(self, params: Any) -> int:
        return last_channels(params.width)

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._deep_networks import mobilenet_v2

        return mobilenet_v2(shape[0], list(inverted_blocks(params.width)), last_channels(params.width), classes, params)


def rounded_channels(channels: int, width: float) -> int:
    """The nearest multiple of 8, at least 8, that is not more than a tenth below."""
    exact = channels * width
    near = max(8, int(exact + 4) // 8 * 8)
    return near + 8 if near < 0.9 * exact else near


def last_channels(width: float) -> int:
    """The paper widens the last layer but never narrows it."""
    return rounded_channels(LAST, max(1.0, width))


def inverted_blocks(width: float) -> Iterator[InvertedBlock]:
    inputs = rounded_channels(FIRST, width)
    for expansion, channels, repeats, first_stride in SEQUENCES:
        for repeat in range(repeats):
            outputs = rounded_channels(channels, width)
            yield InvertedBlock(inputs, inputs * expansion, outputs, 1 if repeat else first_stride)
            inputs = outputs
