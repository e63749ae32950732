"""Options that several models share, as parameter classes. No torch in here."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workers.component import Parameters

Activation = Literal["relu", "leaky", "prelu", "gelu", "elu"]
Norm = Literal["none", "batch", "layer", "group"]


class LayerOptions(Parameters):
    activation: Activation = "relu"
    """Between layers."""
    norm: Norm = "none"
    """Normalisation before each activation; batch averages over a client's batch and keeps running statistics."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of hidden units left out at random in training."""


class DeepOptions(Parameters):
    stem: Literal["imagenet", "cifar"] = "imagenet"
    """imagenet: as published, halves the picture at once. cifar: keeps small pictures whole at first."""
    norm: Literal["batch", "group"] = "batch"
    """batch as published; group needs no statistics of a client's batch."""


class WidthOptions(DeepOptions):
    width: float = Field(1.0, gt=0, le=2)
    """Multiplier of all channel counts."""
