from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workers.component import Strategy

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext


class LocalOnly(Strategy):
    """Reference: no aggregation; every client trains its own model, from the common start, on its own data.

    Each client is evaluated with its own model: on its held-out part, or on the server's test set, where the metrics
    are the means over the clients. No bytes are counted.
    """

    name = "local-only"
    label = "Local only"

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._references import Alone, OwnModel

        return Method(Alone(context), OwnModel(), personal=True)
