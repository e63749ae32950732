from __future__ import annotations

from typing import ClassVar

from workers.models._families import Mlp


class Mlp50(Mlp):
    """One hidden layer of 50 units with ReLU (28,406 parameters on UCI HAR).

    Activation, normalisation and dropout are the study's future work; the defaults are the study's model.
    """

    name = "mlp-50"
    label = "MLP 50"
    paper = "Iaisy: Hybrid between federated and centralised learning, University of Bologna, 2024"
    hidden: ClassVar[tuple[int, ...]] = (50,)
