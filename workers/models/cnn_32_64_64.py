from __future__ import annotations

from typing import ClassVar

from workers.models._families import ConvNet


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
