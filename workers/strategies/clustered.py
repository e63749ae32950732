"""Strategies that find groups of clients before the first round and train models for each group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from workers.catalog.component import Parameters, Strategy
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec


def with_one_error(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """A union reports what is wrong once for each of its members, below paths that nobody wrote."""
    try:
        return check(value)
    except ValidationError:
        raise PydanticCustomError("neighbourhood", "Input should be a number above 0, or auto") from None


Neighbourhood = Annotated[Annotated[float, Field(gt=0)] | Literal["auto"], WrapValidator(with_one_error)]


class ClusterParameters(Parameters):
    eps: Neighbourhood = "auto"
    """Euclidean distance of two neighbours' probe weights; auto parts groups only at a clear gap between distances."""
    compare: Literal["weights", "output-biases"] = "weights"
    """What of two probes is compared: all weights, or only the biases of the output layer, as ATHENA-FL's code does."""
    min_samples: int = Field(2, ge=1)
    """Clients within eps, itself included, that make a client the core of a group."""
    probe_epochs: int = Field(1, ge=1, le=10_000)
    """Local epochs of the probe model before the first round."""
    noise: Literal["own", "nearest"] = "own"
    """Where a client goes that is near no other: into a group of its own, or into the nearest one."""
    late_clients: int = Field(0, ge=0)
    """So many clients, the last ones, come after the groups are made: each trains the probe and joins the nearest."""
    late_round: int = Field(2, ge=1)
    """The round from which late clients take part."""


def late_problems(spec: RunSpec) -> Iterable[Problem]:
    params = spec.strategy
    if isinstance(params, ClusterParameters) and params.late_clients >= max(1, spec.client_count):
        yield Problem("strategy.late_clients", f"There are {spec.client_count} clients: one at least must be early.")


class ClusteredFedAvg(Strategy):
    """FedAvg inside groups of similar clients: one model for each group, on the groups that ATHENA-FL finds.

    Before the first round every client trains the model for `probe_epochs`; DBSCAN on the weights, or on the biases of
    the output layer, makes groups. Then, in each group g, w_g <- sum_i (n_i / n_g) w_i over its share of the cohort. A
    client is evaluated with the model of its group; on the server's test set metrics are means over clients. One group
    is FedAvg. The probe's bytes count in round 0.
    """

    name = "clustered-fedavg"
    label = "Clustered FedAvg"
    paper = "de Souza et al.: ATHENA-FL, 2023 (the clustering; the baseline of its detectors)"
    Params = ClusterParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from late_problems(spec)

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._clustered import ClusteredServer

        server = ClusteredServer(context, params)
        return Method(server, survey=server.survey, groups=server.groups, models=server.models)


class AthenaParameters(ClusterParameters):
    tolerance: float = Field(0.001, ge=0, le=1)
    """A detector has converged once its accuracy changes by less than this from one evaluation to the next."""
    freeze: bool = False
    """Whether a detector that has converged is finished: it is neither sent nor trained any more."""
    relative: bool = False
    """Whether the tolerance is a share of the accuracy before, as in the study, and not a number of points."""


class Athena(Strategy):
    """Groups of similar clients train a binary detector for each class they hold; all detectors classify together.

    Before the first round every client trains the multi-class model for `probe_epochs`; DBSCAN on the weights, or on
    the biases of the output layer, makes groups. Then, in each group, for each class c of its members, FedAvg of the
    same model with two classes on labels {c: 1, rest: 0}: r_gc <- sum_i (n_i / n_g) r_i over the group's share of the
    cohort. A sample's class is that of the detector with the highest answer, argmax_c max_g r_gc(x). A client sends and
    gets as many models as its group has classes; the probe's bytes count in round 0.

    Where clients evaluate, they do so with the detectors of their own group, on what they hold out, and
    `athena.detector_accuracy` is the mean over the clients of each detector's group; with `evaluation.on: both`,
    `accuracy` is that of all detectors together on the test set.
    """

    name = "athena"
    label = "ATHENA-FL"
    paper = (
        "de Souza et al.: ATHENA-FL: Avoiding Statistical Heterogeneity with One-versus-All in Federated Learning, 2023"
    )
    Params = AthenaParameters

    def stamp_in(self, spec: RunSpec) -> int | str:
        """Clients were once evaluated with the detectors of all groups."""
        return self.stamp if spec.evaluation.on == "server" else 2

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from late_problems(spec)

    def model_classes(self, spec: RunSpec) -> int:
        return 2

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.method import Method
        from workers.strategies._athena import AthenaServer, DetectorLabels

        server = AthenaServer(context, params)
        return Method(
            server,
            DetectorLabels(),
            survey=server.survey,
            groups=server.groups,
            outputs=server.outputs,
            judge=server.judge,
            held_out_models=server.group_models,
        )
