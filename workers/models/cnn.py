"""Small convolutional networks."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from workers.models._families import BinaryConvNet, ConvNet, ConvSizes, LayerOptions, Sizes


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


class AthenaDetector(BinaryConvNet):
    """ATHENA-FL's own detector: convolutions 3 x 3 with padding to 16, 32, 64, 64 and 64 channels, each pooled, and 512
    units.

    With two classes it has one logit (131,233 parameters on 3 x 32 x 32, 551 kB as the study's file); with more, as a
    probe, one for each. It halves the picture five times, so it needs 32 x 32: MNIST has `side: 32` for it.
    """

    name = "athena-detector"
    label = "Detector (ATHENA-FL)"
    paper = "de Souza et al.: ATHENA-FL, 2023"
    channels: ClassVar[tuple[int, ...]] = (16, 32, 64, 64, 64)
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 1
    hidden: ClassVar[tuple[int, ...]] = (512,)


class Detector(BinaryConvNet):
    """A detector for pictures of any size: convolutions 3 x 3 with padding to 16, 32 and 64 channels, each pooled, and
    112 units.

    With two classes it has one logit (138,497 parameters on 3 x 32 x 32). Of about the size of ATHENA-FL's own detector
    (`athena-detector`), which pictures under 32 x 32 are too small for.
    """

    name = "detector"
    label = "Detector (small pictures)"
    channels: ClassVar[tuple[int, ...]] = (16, 32, 64)
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 1
    hidden: ClassVar[tuple[int, ...]] = (112,)


class CnnOptions(LayerOptions):
    widths: Sizes = (32, 64)
    """Channels of each convolution; written [[32, 64]] in a grid, where a plain list is an axis."""
    dense: Sizes = (128,)
    """Units of each dense layer after the convolutions, written likewise."""
    kernel: int = Field(3, ge=1, le=11)
    """Side of the convolutions' window."""
    padding: int = Field(1, ge=0, le=5)
    """Pixels of zeros around each picture before a convolution."""


class FreeCnn(ConvNet):
    """A convolutional network of any size: convolutions of the given widths, each pooled 2 x 2, then dense layers.

    `widths: [[32, 64]]`, `dense: [[512]]` is the network of `cnn-32-64-512`; as runs they are others, because names are
    part of a run's identity.
    """

    name = "cnn"
    label = "CNN"
    named_by: ClassVar[tuple[str, ...]] = ("widths", "dense")
    Params = CnnOptions

    def sizes(self, params: Any) -> ConvSizes:
        return ConvSizes(params.widths, params.kernel, params.padding, params.dense)
