"""Linear models and multilayer perceptrons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from workers.catalog.component import Model, Shape, elements
from workers.models._families import LayerOptions, Mlp, Sizes

if TYPE_CHECKING:
    import torch


class Logistic(Model):
    """Multinomial logistic regression: one linear layer on the flattened input."""

    name = "logistic"
    label = "Logistic regression"

    def refusal(self, shape: Shape, classes: int, params: Any) -> str | None:
        return None

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        return (elements(shape) + 1) * classes

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(elements(shape), classes))


class Mlp50(Mlp):
    """One hidden layer of 50 units with ReLU (28,406 parameters on UCI HAR).

    Activation, normalisation and dropout are the study's future work; the defaults are the study's model.
    """

    name = "mlp-50"
    label = "MLP 50"
    paper = "Iaisy: Hybrid between federated and centralised learning, University of Bologna, 2024"
    hidden: ClassVar[tuple[int, ...]] = (50,)


class Mlp256(Mlp):
    """Three hidden layers of 256, 128 and 64 units with ReLU (242,762 parameters on MNIST)."""

    name = "mlp-256-128-64"
    label = "MLP 256-128-64"
    paper = "Bozorgzad: Smart swapping based on model similarity, Isfahan University of Technology, 2024"
    hidden: ClassVar[tuple[int, ...]] = (256, 128, 64)


class MlpOptions(LayerOptions):
    hidden: Sizes = (128,)
    """Units of each hidden layer, from the input on; written [[256, 128]] in a grid, where a plain list is an axis."""


class FreeMlp(Mlp):
    """A multilayer perceptron of any size: flatten, hidden layers of the given units, then linear to the classes.

    `hidden: [[50]]` is the network of `mlp-50`, `hidden: [[256, 128, 64]]` that of `mlp-256-128-64`; as runs they are
    others, because names are part of a run's identity.
    """

    name = "mlp"
    label = "MLP"
    named_by: ClassVar[tuple[str, ...]] = ("hidden",)
    Params = MlpOptions

    def hidden_sizes(self, params: Any) -> tuple[int, ...]:
        sizes: tuple[int, ...] = params.hidden
        return sizes
