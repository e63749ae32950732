from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext

LI = "Li, He, Song: Model-Contrastive Federated Learning, CVPR 2021"


class MoonParameters(Parameters):
    mu: float = Field(1.0, ge=0)
    """Weight of the contrastive loss; 0 is FedAvg."""
    temperature: float = Field(0.5, gt=0)
    """What similarities are divided by: lower tells them apart more sharply."""


class Moon(Strategy):
    """FedAvg whose clients draw representations towards the global model's and away from their own last model's.

    Local loss cross-entropy + mu l, with l = -log(e^a / (e^a + e^b)), a = cos(z, z_glob) / temperature and
    b = cos(z, z_prev) / temperature. z is what goes into the last layer of the model that is trained, z_glob and z_prev
    the same in the global model and in the one the client ended with when it last took part, both fixed and in
    evaluation mode. In a client's first round z_prev is z_glob: l is then constant, and the round FedAvg's. The server
    is FedAvg's; previous models stay with the clients. The paper puts a projection head before z; here the model stays
    as it is. A model of a single layer has no representation to learn: FedAvg.
    """

    name = "moon"
    label = "MOON"
    named_by = ("mu",)
    paper = LI
    Params = MoonParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._moon import ModelContrast

        return Method(Averaging(context), ModelContrast(params.mu, params.temperature))
