"""What federated strategies are measured against: all data in one place, nobody sharing anything, a known defect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.catalog.component import Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class Centralised(Strategy):
    """Reference: all clients' training data in one place, trained there with the local settings; a round is one visit.

    Differs from FedAvg in having one client that holds everything; no bytes are counted.
    """

    name = "centralised"
    label = "Centralised"
    pools_data = True

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._references import CentralisedServer, ObservedModel

        return Method(CentralisedServer(context), ObservedModel(), pooled=True)


class LocalOnly(Strategy):
    """Reference: no aggregation; every client trains its own model, from the common start, on its own data.

    Each client is evaluated with its own model: on its held-out part, or on the server's test set, where the metrics
    are the means over the clients. No bytes are counted.
    """

    name = "local-only"
    label = "Local only"

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._fedavg import OwnModel
        from workers.strategies._references import LocalOnlyServer

        return Method(LocalOnlyServer(context), OwnModel(), personal=True)


class LastClient(Strategy):
    """Reference: a known defect. The new global model is that of the client trained last; the others count for nothing.

    So it goes where all clients of a program share one network object: the "average" of the cohort is an average of
    one and the same network. w <- w_j, with j drawn anew in every round from the cohort: in such a program the order of
    training is as random as the draw of the cohort. Nobody would see what the others do, so they are not asked to
    train: times and bytes are those of one client.
    """

    name = "last-client"
    label = "Last client (a defect)"
    paper = "Mazarakis: comparison of aggregation algorithms, University of West Attica, 2023 (as its code is printed)"

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._references import LastClientServer

        return Method(LastClientServer(context))
