from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec

ZHANG = "Zhang et al.: Federated Learning with Label Distribution Skew via Logits Calibration, ICML 2022"


class FedLcParameters(Parameters):
    tau: float = Field(1.0, gt=0)
    """How much a class loses for being rare at a client."""


class FedLc(Strategy):
    """FedAvg whose clients calibrate logits by their own label counts: a rare class has to win by a larger margin.

    Local loss -log(exp(f_y - tau n_y^(-1/4)) / sum_c exp(f_c - tau n_c^(-1/4))), where f_c is the logit of class c and
    n_c the number of samples of c that the client trains on; FedAvg's is the same without the margins. A class that
    it has no sample of (n_c = 0) is left out of the sum, so that nothing pushes its logit down. The sum is over all
    classes, as in cross-entropy; the paper leaves out y itself. Evaluated are the logits as they are. The server is
    FedAvg's.
    """

    name = "fedlc"
    label = "FedLC"
    named_by = ("tau",)
    paper = ZHANG
    Params = FedLcParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from smoothing_problems(spec)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._fedlc import CalibratedLogits

        return Method(Averaging(context), CalibratedLogits(params.tau))


def smoothing_problems(spec: RunSpec) -> Iterable[Problem]:
    if spec.local.label_smoothing:
        yield Problem(
            "local.label_smoothing",
            "FedLC leaves out classes that a client has no samples of; smoothing gives each a share: choose 0.",
        )
