from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.component import Model, Shape, elements

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
