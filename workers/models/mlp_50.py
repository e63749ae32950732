from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.component import Model, Shape, elements

if TYPE_CHECKING:
    import torch

HIDDEN = 50


class Mlp50(Model):
    """One hidden layer of 50 units with ReLU (28,406 parameters on UCI HAR)."""

    name = "mlp-50"
    label = "MLP 50"

    def refusal(self, shape: Shape, classes: int, params: Any) -> str | None:
        return None

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        return (elements(shape) + 1) * HIDDEN + (HIDDEN + 1) * classes

    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(elements(shape), HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, classes))
