from __future__ import annotations

from typing import ClassVar

from workers.models._families import Mlp


class Mlp256(Mlp):
    """Three hidden layers of 256, 128 and 64 units with ReLU (242,762 parameters on MNIST)."""

    name = "mlp-256-128-64"
    label = "MLP 256-128-64"
    paper = "Bozorgzad: Smart swapping based on model similarity, Isfahan University of Technology, 2024"
    hidden: ClassVar[tuple[int, ...]] = (256, 128, 64)
