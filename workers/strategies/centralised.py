from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.component import Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class Centralised(Strategy):
    """Reference: all clients' training data in one place, trained there with the local settings; a round is one visit.

    Differs from FedAvg in having one client that holds everything; no bytes are counted.
    """

    name = "centralised"
    label = "Centralised"

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._references import ObservedModel, Pooled

        return Method(Pooled(context), ObservedModel(), pooled=True)
