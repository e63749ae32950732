from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.component import Strategy
from workers.errors import Problem
from workers.strategies._cluster_options import ClusterParameters, late_problems

if TYPE_CHECKING:
    from workers.engine.method import Method, MethodContext
    from workers.spec import RunSpec


class AthenaParameters(ClusterParameters):
    tolerance: float = Field(0.001, ge=0, le=1)
    """A detector has converged once its accuracy changes by less than this from one evaluation to the next."""
    freeze: bool = False
    """Whether a detector that has converged is finished: it is neither sent nor trained any more."""


class Athena(Strategy):
    """Groups of similar clients train a binary detector for each class they hold; all detectors classify together.

    Before the first round every client trains the multi-class model for `probe_epochs`; DBSCAN on the weights makes
    groups. Then, in each group, for each class c of its members, FedAvg of the same model with two classes on labels
    {c: 1, rest: 0}: r_gc <- sum_i (n_i / n_g) r_i over the group's share of the cohort. A sample's class is that of
    the detector with the highest answer, argmax_c max_g r_gc(x). A client sends and gets as many models as its group
    has classes; the probe's bytes count in round 0.
    """

    name = "athena"
    label = "ATHENA-FL"
    paper = (
        "de Souza et al.: ATHENA-FL: Avoiding Statistical Heterogeneity with One-versus-All in Federated Learning, 2023"
    )
    Params = AthenaParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from late_problems(spec)

    def model_classes(self, spec: RunSpec) -> int:
        return 2

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.method import Method
        from workers.strategies._athena import Athena as Server
        from workers.strategies._athena import Detecting

        server = Server(context, params)
        return Method(
            server,
            Detecting(),
            survey=server.survey,
            groups=server.groups,
            outputs=server.outputs,
            judge=server.judge,
        )
