from __future__ import annotations

from typing import ClassVar

from workers.models._families import ConvNet


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
