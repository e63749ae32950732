"""Parameter counts and sizes worked out without building anything. No torch in here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workers.component import Shape
from workers.models._options import Activation, Norm


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
