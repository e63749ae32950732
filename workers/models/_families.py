"""Families of models that differ only in their sizes, and what deep ones share. No torch at module level."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from workers.component import Model, Shape, elements
from workers.models._counts import (
    Conv,
    activation_count,
    after_pooling,
    deep_count,
    linear_count,
    norm_count,
    not_a_picture,
    smallest_side,
)
from workers.models._options import DeepOptions, LayerOptions

if TYPE_CHECKING:
    import torch


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

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        options = params or self.Params()
        sizes = [elements(shape), *self.hidden, classes]
        linear = sum(linear_count(*pair) for pair in pairwise(sizes))
        extra = sum(norm_count(options.norm, size) + activation_count(options.activation) for size in self.hidden)
        return linear + extra

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._blocks import mlp

        return mlp(elements(shape), self.hidden, classes, params)


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
        if self.features(shape):
            return None
        least = smallest_side(self.kernel, self.padding, len(self.channels))
        return f"Pictures of {shape[1]} x {shape[2]} are too small: it needs at least {least} x {least}."

    def features(self, shape: Shape) -> int:
        height, width = (after_pooling(side, self.kernel, self.padding, len(self.channels)) for side in shape[1:])
        return self.channels[-1] * height * width

    def outputs(self, classes: int) -> int:
        return classes

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        options = params or self.Params()
        planes = [shape[0], *self.channels]
        convs = sum(linear_count(a * self.kernel**2, b) for a, b in pairwise(planes))
        sizes = [self.features(shape), *self.hidden, self.outputs(classes)]
        dense = sum(linear_count(*pair) for pair in pairwise(sizes))
        slopes = (len(self.channels) + len(self.hidden)) * activation_count(options.activation)
        return convs + dense + slopes + sum(norm_count(options.norm, plane) for plane in self.channels)

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from workers.models._blocks import conv_net

        sizes = (self.features(shape), self.hidden, self.outputs(classes))
        return conv_net((shape[0], *self.channels), self.kernel, self.padding, sizes, params)


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
