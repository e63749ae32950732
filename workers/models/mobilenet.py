from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workers.catalog.component import Shape
from workers.models._families import Conv, DeepNet, MobileOptions, scaled_channels

if TYPE_CHECKING:
    import torch

FIRST = 32
# Output channels and stride of each depthwise separable block (table 1 of the paper; its last stride is 1, as the
# sizes printed beside it say).
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))


class MobileNet(DeepNet):
    """MobileNet: a 3 x 3 convolution and 13 depthwise separable blocks of 64 to 1,024 channels, average pool, linear.

    3,217,226 parameters with ten classes. As published it halves the picture five times, which leaves one pixel of
    32 x 32; the `cifar` stem keeps the size in the first convolution.
    """

    name = "mobilenet"
    label = "MobileNet"
    paper = "Howard et al.: MobileNets: Efficient CNNs for Mobile Vision Applications, 2017"
    Params = MobileOptions

    def convs(self, channels: int, params: Any) -> Iterator[Conv]:
        inputs = scaled_channels(FIRST, params.width)
        yield Conv(channels, inputs, 3)
        for block, _ in BLOCKS:
            outputs = scaled_channels(block, params.width)
            yield Conv(inputs, inputs, 3, groups=inputs)
            yield Conv(inputs, outputs, 1)
            inputs = outputs

    def features(self, params: Any) -> int:
        return scaled_channels(BLOCKS[-1][0], params.width)

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._deep_networks import mobilenet

        first = scaled_channels(FIRST, params.width)
        blocks = [(scaled_channels(outputs, params.width), stride) for outputs, stride in BLOCKS]
        return mobilenet(shape[0], first, blocks, classes, params)
