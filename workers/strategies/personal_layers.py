"""Personalised models: clients keep layers (FedBN, FedPer, FedRep) or a model (Ditto), or fine-tune the global one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from workers.catalog.component import Parameters, Strategy
from workers.errors import Problem
from workers.strategies.simple.declaration import LayerChoice, SimpleStrategy, last_layers, norm_layers, param

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec


class FedBn(SimpleStrategy):
    """FedAvg whose clients keep their batch normalisation: its scale, shift and statistics are never averaged.

    w <- sum_i (n_i / n) w_i over all other parameters. A client is evaluated with the global layers and its own batch
    normalisation: on its held-out part, or on the test set, where metrics are means over clients. What stays with the
    clients is not counted as bytes. For a model without batch normalisation it is FedAvg.
    """

    name = "fedbn"
    label = "FedBN"
    paper = "Li et al.: FedBN: Federated Learning on Non-IID Features via Local Batch Normalization, ICLR 2021"
    private = norm_layers()


class FedPer(SimpleStrategy):
    """FedAvg of the first layers; the last ones stay with each client and fit its own data.

    w <- sum_i (n_i / n) w_i over the base layers. A client is evaluated with the global base and its own last layers,
    on its held-out part or on the test set, where metrics are means over clients. Only the base is counted as bytes.
    """

    name = "fedper"
    label = "FedPer"
    paper = "Arivazhagan et al.: Federated Learning with Personalization Layers, 2019"
    layers: int = param(1, ge=1, help="How many of the last layers stay with the client; the others are averaged.")

    @property
    def private(self) -> LayerChoice:
        return last_layers(self.layers)


class FedRepParameters(Parameters):
    layers: int = Field(1, ge=1)
    """How many of the last layers stay with the client; the others are averaged."""
    head_share: float = Field(0.5, ge=0, lt=1)
    """Share of a client's local steps, rounded down to whole ones, that train its own layers; the others the base."""


class FedRep(Strategy):
    """FedPer whose clients first train their own last layers on the base as it came, and then the base alone.

    A client takes floor(head_share * tau_i) of its tau_i steps along the gradient of its own layers, with the base
    fixed at w_t, and the rest along that of the base, with its own layers fixed. w <- sum_i (n_i / n) w_i over the base
    layers, where FedAvg has it over all. It is evaluated as FedPer is; only the base is counted as bytes. The paper's
    ten epochs for the head and one for the base are `local.epochs` 11 with `head_share` 0.91.
    """

    name = "fedrep"
    label = "FedRep"
    paper = "Collins et al.: Exploiting Shared Representations for Personalized Federated Learning, ICML 2021"
    Params = FedRepParameters

    def sends_models(self, params: Any) -> bool:
        return False

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.strategies._personal_layers import HeadThenBase, keep_layers, last_layers

        names = last_layers(context, params.layers)
        return keep_layers(context, names, HeadThenBase(names, params.head_share))


class DittoParameters(Parameters):
    pull: float = Field(0.1, ge=0)
    """The paper's lambda: how strongly a client's own model is held near the global one; 0 is local training alone."""


class Ditto(Strategy):
    """FedAvg, and beside it each client trains a model of its own that is held near the global one.

    w is FedAvg's. In each of its rounds client i also takes as many steps, on the same batches, of its own v_i, which
    began as the first model it got: v_i <- v_i - lr (g_i(v_i) + pull (v_i - w_t)). `accuracy` and all other usual
    metrics are those of w; `personal_accuracy`, `personal_loss` and `personal_f1` those of the v_i: on the held-out
    parts, or on the test set, where they are means over clients. Sent is what FedAvg sends; steps and samples count
    the training of w alone.
    """

    name = "ditto"
    label = "Ditto"
    named_by = ("pull",)
    paper = "Li et al.: Ditto: Fair and Robust Federated Learning Through Personalization, ICML 2021"
    Params = DittoParameters

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        if spec.local.keep_optimizer:
            yield Problem(
                "local.keep_optimizer",
                "Ditto's clients train two models, and one state of the optimizer cannot serve both: choose false.",
            )

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method
        from workers.strategies._personal_layers import OwnModelNearGlobal, PlainAndPersonal

        rule = PlainAndPersonal(OwnModelNearGlobal(params.pull))
        return Method(Averaging(context), rule, personal_beside=True)


class FineTuningParameters(Parameters):
    epochs: int = Field(1, ge=1, le=10_000)
    """Local epochs with which a client fine-tunes the global model before it is evaluated."""


class FedAvgFineTuning(Strategy):
    """FedAvg whose clients fine-tune the global model on their own samples before they are evaluated.

    w is FedAvg's. At each evaluation of w, client i takes `epochs` of local training from it:
    v_i <- v_i - lr g_i(v_i), beginning with v_i = w, on the batches of that round. `accuracy` and all other usual
    metrics are those of w; `personal_accuracy`, `personal_loss` and `personal_f1` those of the v_i: on the held-out
    parts, or on the test set, where they are means over clients. Nothing of the v_i is kept, sent or counted as work;
    `evaluation.every` and `evaluation.clients` say how often and who.
    """

    name = "fedavg-ft"
    label = "FedAvg, fine-tuned"
    named_by = ("epochs",)
    paper = "Wang et al.: Federated Evaluation of On-device Personalization, 2019"
    Params = FineTuningParameters

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.engine.server.averaging import Averaging
        from workers.engine.server.method import Method

        local = context.spec.local.model_copy(update={"epochs": params.epochs, "steps": None, "keep_optimizer": False})
        return Method(Averaging(context), fine_tune=context.spec.model_copy(update={"local": local}))
