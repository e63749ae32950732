from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workers.catalog.component import Shape
from workers.models._families import Conv, DeepNet

if TYPE_CHECKING:
    import torch

STAGES = (64, 128, 256, 512)
BLOCKS_PER_STAGE = 2


class ResNet18(DeepNet):
    """Residual network of 18 layers: a stem, four stages of two basic blocks (64 to 512 channels), pool, linear.

    `imagenet` stem: 7 x 7 convolution and 3 x 3 max pooling, each halving (11,227,812 parameters on CIFAR-100).
    `cifar` stem: one 3 x 3 convolution that keeps the size.
    """

    name = "resnet18"
    label = "ResNet-18"
    paper = "He et al.: Deep Residual Learning for Image Recognition, CVPR 2016"

    def convs(self, channels: int, params: Any) -> Iterator[Conv]:
        inputs = STAGES[0]
        yield Conv(channels, inputs, 7 if params.stem == "imagenet" else 3)
        for outputs in STAGES:
            if outputs != inputs:
                yield Conv(inputs, outputs, 1)
            for _ in range(BLOCKS_PER_STAGE):
                yield Conv(inputs, outputs, 3)
                yield Conv(outputs, outputs, 3)
                inputs = outputs

    def features(self, params: Any) -> int:
        return STAGES[-1]

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._deep_networks import resnet

        return resnet(shape[0], STAGES, BLOCKS_PER_STAGE, classes, params)
