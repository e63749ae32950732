"""From a `SimpleStrategy` to what the engine runs."""

from __future__ import annotations

from workers.engine.server.method import Method, MethodContext
from workers.strategies._personal_layers import last_layers, norm_layers
from workers.strategies.simple._clients import SimpleRule
from workers.strategies.simple._server import SimpleServer
from workers.strategies.simple._weights import WeightsError
from workers.strategies.simple.declaration import LayerChoice, SimpleStrategy


def make_method(strategy: SimpleStrategy, context: MethodContext) -> Method:
    """With private layers every client is evaluated with its own of them."""
    private = private_layers(strategy, context)
    server = SimpleServer(context, strategy, private)
    return Method(server, SimpleRule(strategy, private, context.spec.seed), personal=strategy.private is not None)


def private_layers(strategy: SimpleStrategy, context: MethodContext) -> list[str]:
    choice = strategy.private
    if choice is None:
        return []
    if not isinstance(choice, LayerChoice):
        raise WeightsError(f"{type(strategy).__name__}.private must be last_layers(...), norm_layers() or None.")
    return norm_layers(context) if choice.kind == "norm" else last_layers(context, choice.count)
