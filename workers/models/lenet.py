from __future__ import annotations

from typing import ClassVar

from workers.models._families import ConvNet


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
