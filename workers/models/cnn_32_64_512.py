from __future__ import annotations

from typing import ClassVar

from workers.models._families import ConvNet


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
