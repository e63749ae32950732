"""What adaptive servers are set by."""

from __future__ import annotations

from pydantic import Field

from workers.component import Parameters


class AdaptiveParameters(Parameters):
    server_lr: float = Field(0.1, gt=0)
    """Server step size."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the mean of movements."""
    tau: float = Field(1e-3, gt=0)
    """Added to the denominator: larger is less adaptive."""


class DecayingParameters(AdaptiveParameters):
    beta2: float = Field(0.99, ge=0, lt=1)
    """Decay of the mean of squared movements."""
