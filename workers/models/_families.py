"""Families of models that differ only in their sizes: options, counts, declarations. No torch at module level."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from workers.catalog.component import Model, Parameters, Shape, as_tuple, elements

if TYPE_CHECKING:
    import torch


Activation = Literal["relu", "leaky", "prelu", "gelu", "elu", "tanh"]
Norm = Literal["none", "batch", "layer", "group"]
Sizes = Annotated[
    tuple[Annotated[int, Field(ge=1, le=100_000)], ...], BeforeValidator(as_tuple), Field(min_length=1, max_length=20)
]


class LayerOptions(Parameters):
    activation: Activation = "relu"
    """Between layers."""
    norm: Norm = "none"
    """Normalisation before each activation; batch averages over a client's batch and keeps running statistics."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of hidden units left out at random in training."""
    slope: float = Field(0.01, ge=0, lt=1)
    """What leaky multiplies negative values by; other activations have no use for it."""
    alpha: float = Field(1.0, gt=0, le=10)
    """Minus what elu goes to for very negative values; other activations have no use for it."""


class DeepOptions(Parameters):
    stem: Literal["imagenet", "cifar"] = "imagenet"
    """imagenet: as published, halves the picture at once. cifar: keeps small pictures whole at first."""
    norm: Literal["batch", "group"] = "batch"
    """batch as published; group needs no statistics of a client's batch."""
    init: Literal["he", "torch"] = "he"
    """Initial convolutions: he for deep rectified networks (fan out), or torch's own default."""


class WidthOptions(DeepOptions):
    width: float = Field(1.0, gt=0, le=2)
    """Multiplier of all channel counts."""


class MobileOptions(WidthOptions):
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of the last features left out at random in training."""


class Conv(NamedTuple):
    """A convolution without bias, followed by a normalisation with scale and shift unless `norm` is false."""

    inputs: int
    outputs: int
    kernel: int
    groups: int = 1
    norm: bool = True

    @property
    def parameters(self) -> int:
        return self.inputs // self.groups * self.outputs * self.kernel**2 + 2 * self.outputs * self.norm


def deep_count(convs: Iterable[Conv], features: int, classes: int) -> int:
    return sum(conv.parameters for conv in convs) + linear_count(features, classes)


def scaled_channels(channels: int, width: float) -> int:
    return max(1, int(channels * width))


def linear_count(inputs: int, outputs: int) -> int:
    return (inputs + 1) * outputs


def norm_count(norm: Norm, features: int) -> int:
    return 0 if norm == "none" else 2 * features


def activation_count(activation: Activation) -> int:
    """PReLU learns one slope."""
    return int(activation == "prelu")


def after_pooling(side: int, kernel: int, padding: int, layers: int) -> int:
    """What is left of a picture's side after `layers` of convolution and 2 x 2 pooling; 0 where it does not fit."""
    for _ in range(layers):
        side = max(0, side + 2 * padding - kernel + 1) // 2
    return side


def smallest_side(kernel: int, padding: int, layers: int) -> int:
    return next(side for side in range(1, 10_000) if after_pooling(side, kernel, padding, layers))


def not_a_picture(shape: Shape) -> str | None:
    if len(shape) == 3:
        return None
    return f"It needs pictures (channels, height, width); the data has shape {list(shape)}. Choose an MLP."


class WithNorm(Model):
    """A model whose `norm` parameter may be batch normalisation."""

    def batch_statistics(self, params: Any) -> bool:
        return bool(params.norm == "batch")


class Mlp(WithNorm):
    """Flatten, then for each hidden layer: linear, normalisation, activation, dropout; then linear to the classes."""

    Params = LayerOptions
    hidden: ClassVar[tuple[int, ...]]

    def refusal(self, shape: Shape, classes: int, params: Any) -> str | None:
        return None

    def hidden_sizes(self, params: Any) -> tuple[int, ...]:
        return self.hidden

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        options = params or self.Params()
        hidden = self.hidden_sizes(options)
        linear = sum(linear_count(*pair) for pair in pairwise([elements(shape), *hidden, classes]))
        extra = sum(norm_count(options.norm, size) + activation_count(options.activation) for size in hidden)
        return linear + extra

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._blocks import mlp

        return mlp(elements(shape), self.hidden_sizes(params), classes, params)


class ConvSizes(NamedTuple):
    channels: tuple[int, ...]
    kernel: int
    padding: int
    hidden: tuple[int, ...]

    def features(self, shape: Shape) -> int:
        """What the dense layers get of such a picture; 0 where it is too small."""
        height, width = (after_pooling(side, self.kernel, self.padding, len(self.channels)) for side in shape[1:])
        return self.channels[-1] * height * width


class ConvNet(WithNorm):
    """For each channel count: convolution, normalisation, activation, 2 x 2 max pooling; then an MLP without norm."""

    Params = LayerOptions
    channels: ClassVar[tuple[int, ...]]
    kernel: ClassVar[int]
    padding: ClassVar[int]
    hidden: ClassVar[tuple[int, ...]]

    def refusal(self, shape: Shape, classes: int, params: Any) -> str | None:
        if reason := not_a_picture(shape):
            return reason
        sizes = self.sizes(params)
        if sizes.features(shape):
            return None
        least = smallest_side(sizes.kernel, sizes.padding, len(sizes.channels))
        return f"Pictures of {shape[1]} x {shape[2]} are too small: it needs at least {least} x {least}."

    def sizes(self, params: Any) -> ConvSizes:
        return ConvSizes(self.channels, self.kernel, self.padding, self.hidden)

    def outputs(self, classes: int) -> int:
        return classes

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        options = params or self.Params()
        sizes = self.sizes(options)
        convs = sum(linear_count(a * sizes.kernel**2, b) for a, b in pairwise([shape[0], *sizes.channels]))
        dense_sizes = [sizes.features(shape), *sizes.hidden, self.outputs(classes)]
        dense = sum(linear_count(*pair) for pair in pairwise(dense_sizes))
        slopes = (len(sizes.channels) + len(sizes.hidden)) * activation_count(options.activation)
        return convs + dense + slopes + sum(norm_count(options.norm, plane) for plane in sizes.channels)

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._blocks import conv_net

        sizes = self.sizes(params)
        dense_sizes = (sizes.features(shape), sizes.hidden, self.outputs(classes))
        return conv_net((shape[0], *sizes.channels), sizes.kernel, sizes.padding, dense_sizes, params)


class BinaryConvNet(ConvNet):
    """A convolutional network that with two classes has one logit z and answers (0, z), whose softmax is the sigmoid of
    z: cross entropy on it is binary cross entropy. With more classes it has one logit for each.
    """

    def outputs(self, classes: int) -> int:
        return 1 if classes == 2 else classes

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        network = super().build(shape, classes, params)
        if classes > 2:
            return network
        from torch import nn

        from workers.models._blocks import OneLogit

        return nn.Sequential(network, OneLogit())


class DeepNet(WithNorm):
    """Convolutions without bias, each normalised, then global pooling and one linear layer."""

    Params = DeepOptions

    @abstractmethod
    def convs(self, channels: int, params: Any) -> Iterable[Conv]:
        """Every convolution there is, for pictures of so many channels."""

    @abstractmethod
    def features(self, params: Any) -> int:
        """What the linear layer gets."""

    def refusal(self, shape: Shape, classes: int, params: Any) -> str | None:
        return not_a_picture(shape)

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        options = params or self.Params()
        return deep_count(self.convs(shape[0], options), self.features(options), classes)
