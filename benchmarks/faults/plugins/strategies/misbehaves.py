from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from workers.catalog.component import Parameters, Strategy

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext


class MisbehavesParameters(Parameters):
    how: Literal["hangs", "leaks"] = "hangs"
    """Wait for ever, or take more and more memory."""
    at: int = Field(1, ge=1)
    """The round in which it does."""


class Misbehaves(Strategy):
    """FedAvg with a round that never ends: for fault tests."""

    name = "misbehaves"
    label = "Misbehaves"
    version = 1
    Params = MisbehavesParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method

        from ._misbehaves import Misbehaving

        return Method(Misbehaving(context, params.how, params.at))
