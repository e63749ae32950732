from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workers.component import Strategy
from workers.errors import Problem
from workers.strategies._cluster_options import ClusterParameters, late_problems

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext
    from workers.spec import RunSpec


class ClusteredFedAvg(Strategy):
    """FedAvg inside groups of similar clients: one model for each group, on the groups that ATHENA-FL finds.

    Before the first round every client trains the model for `probe_epochs`; DBSCAN on the weights makes groups. Then,
    in each group g, w_g <- sum_i (n_i / n_g) w_i over its share of the cohort. A client is evaluated with the model of
    its group; on the server's test set metrics are means over clients. One group is FedAvg. The probe's bytes count
    in round 0.
    """

    name = "clustered-fedavg"
    label = "Clustered FedAvg"
    paper = "de Souza et al.: ATHENA-FL, 2023 (the clustering; the baseline of its detectors)"
    Params = ClusterParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from late_problems(spec)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._clusters import Clustered

        server = Clustered(context, params)
        return Method(server, survey=server.survey, groups=server.groups, models=server.models)
