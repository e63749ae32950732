from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from workers.component import Shape
from workers.models._families import ConvNet

if TYPE_CHECKING:
    import torch


class Detector(ConvNet):
    """ATHENA-FL's small CNN: convolutions 3 x 3 with padding to 16, 32 and 64 channels, each pooled, and 112 units.

    With two classes it has one logit z (138,497 parameters on 3 x 32 x 32) and answers (0, z), whose softmax is the
    sigmoid of z: cross entropy on it is binary cross entropy. With more classes it has one logit for each.
    """

    name = "detector"
    label = "Detector (ATHENA)"
    paper = "de Souza et al.: ATHENA-FL, 2023"
    channels: ClassVar[tuple[int, ...]] = (16, 32, 64)
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 1
    hidden: ClassVar[tuple[int, ...]] = (112,)

    def outputs(self, classes: int) -> int:
        return 1 if classes == 2 else classes

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        network = super().build(shape, classes, params)
        if classes > 2:
            return network
        from torch import nn

        from workers.models._blocks import OneLogit

        return nn.Sequential(network, OneLogit())
