"""Small convolutional networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from workers.catalog.component import Shape
from workers.models._families import ConvNet

if TYPE_CHECKING:
    import torch


class Cnn64(ConvNet):
    """Convolutions 3 x 3 without padding to 32 and 64 channels, each pooled, and a dense layer of 64.

    167,562 parameters on CIFAR-10. The small CNN of the engine's benchmarks.
    """

    name = "cnn-32-64-64"
    label = "CNN 32-64-64"
    channels: ClassVar[tuple[int, ...]] = (32, 64)
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 0
    hidden: ClassVar[tuple[int, ...]] = (64,)


class Cnn100(ConvNet):
    """Convolutions 3 x 3 without padding to 32 and 64 channels, each pooled, and a dense layer of 100.

    179,926 parameters on MNIST, 250,902 on CIFAR-10, 185,178 on FEMNIST.
    """

    name = "cnn-32-64-100"
    label = "CNN 32-64-100"
    paper = "Bozorgzad: Smart swapping based on model similarity, Isfahan University of Technology, 2024"
    channels: ClassVar[tuple[int, ...]] = (32, 64)
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 0
    hidden: ClassVar[tuple[int, ...]] = (100,)


class Cnn512(ConvNet):
    """Convolutions 3 x 3 with padding to 32 and 64 channels, each pooled, and a dense layer of 512.

    1,656,766 parameters on FEMNIST. Activation, normalisation and dropout are the study's future work; the defaults
    are the study's model.
    """

    name = "cnn-32-64-512"
    label = "CNN 32-64-512"
    paper = "Iaisy: Hybrid between federated and centralised learning, University of Bologna, 2024"
    channels: ClassVar[tuple[int, ...]] = (32, 64)
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 1
    hidden: ClassVar[tuple[int, ...]] = (512,)


class LeNet(ConvNet):
    """LeNet-5 with ReLU and max pooling: convolutions 5 x 5 to 6 and 16 channels, dense layers of 120 and 84.

    44,426 parameters on MNIST, 62,006 on CIFAR-10, 69,656 on CIFAR-100.
    """

    name = "lenet"
    label = "LeNet"
    paper = "LeCun et al.: Gradient-Based Learning Applied to Document Recognition, Proceedings of the IEEE, 1998"
    channels: ClassVar[tuple[int, ...]] = (6, 16)
    kernel: ClassVar[int] = 5
    padding: ClassVar[int] = 0
    hidden: ClassVar[tuple[int, ...]] = (120, 84)


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
