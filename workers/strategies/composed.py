"""A strategy put together from a client rule, an aggregation and a server optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workers.catalog.component import Parameters, Strategy
from workers.catalog.part import Part, version_marks
from workers.errors import Problem
from workers.strategies.parts.aggregate import AggregateChoice, MeanPart
from workers.strategies.parts.client import ClientChoice, PlainClient
from workers.strategies.parts.server import NoServerOptimizer, ServerChoice

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec


class ComposedParameters(Parameters):
    client: ClientChoice = PlainClient()
    """What a client does alone."""
    aggregate: AggregateChoice = MeanPart()
    """How the clients' models become one."""
    server: ServerChoice = NoServerOptimizer()
    """What the server makes of the movement from its model to that one."""

    @property
    def parts(self) -> dict[str, Part]:
        return {"client": self.client, "aggregate": self.aggregate, "server": self.server}


class Composed(Strategy):
    """A client rule, an aggregation and a server optimizer of your choice; all three at their defaults are FedAvg.

    Clients follow `client`; `aggregate` makes one model a of their models; `server` takes optimizer steps along
    a - w. Named strategies are such triples: fedprox is client fedprox, fedadam is server adam, fedmedian is aggregate
    median, fednova is aggregate by-steps. Batch statistics are aggregated and never optimised.
    """

    name = "composed"
    label = "Composed"
    Params = ComposedParameters

    def stamp_in(self, spec: RunSpec) -> int | str:
        marks = version_marks(composition_of(spec).parts.values())
        return "+".join([str(self.stamp), *marks]) if marks else self.stamp

    def validation_needed(self, params: Any) -> bool:
        needed: bool = params.aggregate.needs_validation
        return needed

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        composition = composition_of(spec)
        for name, part in composition.parts.items():
            yield from part.problems(spec, f"strategy.{name}")
        yield from composition.aggregate.pair_problems(composition.client, spec)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import Aggregation, ComposedServer, join_rules
        from workers.strategies._private import make_private

        client, spec = params.client, context.spec
        aggregation, rules = (
            params.aggregate.aggregation(spec),
            [client.rule(), params.aggregate.reporter(spec, client)],
        )
        if spec.privacy is not None:
            aggregation, noise = make_private(spec.privacy, spec, aggregation or Aggregation())
            rules.append(noise)
        server = ComposedServer(context, aggregation, params.server.step(), client.companion())
        return Method(server, join_rules(*rules))


def composition_of(spec: RunSpec) -> ComposedParameters:
    assert isinstance(spec.strategy, ComposedParameters)
    return spec.strategy
