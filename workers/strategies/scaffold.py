from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from workers.catalog.component import Parameters, Strategy, summed_gradient_problems
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec


class ScaffoldParameters(Parameters):
    option: Literal[1, 2] = 2
    """How a client renews its control variate: 1 its full gradient at the global model, 2 its mean local gradient."""
    server_lr: float = Field(1.0, gt=0)
    """Step of the server towards the mean of the clients' models."""
    weighting: Literal["samples", "uniform"] = "samples"
    """What a client counts: its number of samples, or one."""
    correction: Literal["gradient", "step"] = "gradient"
    """Where c - c_i acts: in the gradient, so that momentum carries it on, or outside the momentum, after each step."""


class Scaffold(Strategy):
    """FedAvg whose clients correct their drift: every local gradient gains c - c_i, the control variates' difference.

    w_i <- w_i - lr (g_i(w_i) - c_i + c), then option 1: c_i <- g_i(w_t) over all samples of the client, or option 2:
    c_i <- c_i - c + (w_t - w_i) / (a_i lr). The server takes w <- w + server_lr (mean w_i - w) and adds the cohort's
    share of the changes of c_i to c. a_i is the number of local steps; with momentum it is FedNova's a_i, since
    dividing by the steps alone makes the variates grow without bound. Model and variate are sent both ways.

    `correction` step is NIID-Bench's form: the optimizer steps along g_i alone, momentum included, and then
    w_i <- w_i - lr (c - c_i); the variates are divided by the number of steps, so that they hold what momentum makes of
    a gradient. Without momentum both forms are the same. (NIID-Bench weighs models by samples and variates uniformly.)
    """

    name = "scaffold"
    label = "SCAFFOLD"
    paper = "Karimireddy et al.: SCAFFOLD: Stochastic Controlled Averaging for Federated Learning, ICML 2020"
    Params = ScaffoldParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from summed_gradient_problems(spec, self.label)
        if isinstance(spec.strategy, ScaffoldParameters) and (spec.strategy.correction, spec.strategy.option) == (
            "step",
            1,
        ):
            yield Problem(
                "strategy.option",
                "A correction outside the momentum needs what momentum makes of a gradient, which option 1 does not "
                "know. Choose option 2, or correction gradient.",
            )

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._composition import Aggregation, ComposedServer
        from workers.strategies._scaffold import ControlVariates, GradientCorrection, StepCorrection
        from workers.strategies._server_optimizers import PartialStep
        from workers.strategies._weighting import UniformMean

        uniform = params.weighting == "uniform"
        server = ComposedServer(
            context,
            UniformMean() if uniform else Aggregation(),
            PartialStep(params.server_lr),
            ControlVariates(uniform=uniform),
        )
        rule = GradientCorrection(params.option) if params.correction == "gradient" else StepCorrection(params.option)
        return Method(server, rule)
