from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class IfcaParameters(Parameters):
    clusters: int = Field(2, ge=1, le=100)
    """How many models there are; 1 is FedAvg."""


class Ifca(Strategy):
    """FedAvg of several models at once: in each round a client trains the one that fits its samples best.

    The server sends w_1 .. w_k, which begin with different draws. Client i takes j_i = argmin_j F_i(w_j), F_i being its
    mean loss over all that it trains on, trains w_{j_i} and sends it with j_i; then, for each cluster j that somebody
    took, w_j <- sum (n_i / n) w_i over those with j_i = j, n being their samples together. FedAvg has k = 1. A client
    is evaluated with the model that has the least loss on what it trains on: on its held-out part, or on the test set,
    where metrics are means over clients. All k models count in `bytes_down`. This is the paper's averaging of models,
    without its variant in which clusters share their first layers.
    """

    name = "ifca"
    label = "IFCA"
    named_by = ("clusters",)
    paper = "Ghosh et al.: An Efficient Framework for Clustered Federated Learning, NeurIPS 2020"
    Params = IfcaParameters

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._ifca import BestCluster, ClusterModels

        server = ClusterModels(context, params.clusters)
        return Method(server, BestCluster(params.clusters), candidates=server.models)
