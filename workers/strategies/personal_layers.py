"""Strategies whose clients keep some layers for themselves: FedBN, FedPer. Each is evaluated with its own model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class FedBn(Strategy):
    """FedAvg whose clients keep their batch normalisation: its scale, shift and statistics are never averaged.

    w <- sum_i (n_i / n) w_i over all other parameters. A client is evaluated with the global layers and its own batch
    normalisation: on its held-out part, or on the test set, where metrics are means over clients. What stays with the
    clients is not counted as bytes. For a model without batch normalisation it is FedAvg.
    """

    name = "fedbn"
    label = "FedBN"
    paper = "Li et al.: FedBN: Federated Learning on Non-IID Features via Local Batch Normalization, ICLR 2021"

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.strategies._personal_layers import keep_layers, norm_layers

        return keep_layers(context, norm_layers(context))


class FedPerParameters(Parameters):
    layers: int = Field(1, ge=1)
    """How many of the last layers stay with the client; the others are averaged."""


class FedPer(Strategy):
    """FedAvg of the first layers; the last ones stay with each client and fit its own data.

    w <- sum_i (n_i / n) w_i over the base layers. A client is evaluated with the global base and its own last layers,
    on its held-out part or on the test set, where metrics are means over clients. Only the base is counted as bytes.
    """

    name = "fedper"
    label = "FedPer"
    paper = "Arivazhagan et al.: Federated Learning with Personalization Layers, 2019"
    Params = FedPerParameters

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.strategies._personal_layers import keep_layers, last_layers

        return keep_layers(context, last_layers(context, params.layers))
