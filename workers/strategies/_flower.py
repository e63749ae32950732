"""Builds the strategy that a spec names, and makes clients do what Flower's strategies ask of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import flwr
from flwr.clientapp.mod import adaptiveclipping_mod, fixedclipping_mod
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideAdaptiveClipping,
    DifferentialPrivacyClientSideFixedClipping,
    Strategy,
)

from workers.engine.messages.flower import quiet_flower
from workers.engine.messages.message_keys import TRAIN_LOSS
from workers.engine.server.generators import BUILDING, keyed_generators
from workers.engine.server.hosted import HostedStrategy, Mod
from workers.engine.server.method import Method, MethodContext
from workers.engine.training.rule import LocalRule, LocalWork, Terms
from workers.errors import TributaryError
from workers.strategies._flower_classes import class_facts, flower_version
from workers.strategies._flower_inspection import load_class
from workers.strategies.flower import ARGUMENTS, CLASS, SAMPLED_CLIENTS

PROXIMAL_MU, CLIPPING_NORM = "proximal-mu", "clipping_norm"
EVERYBODY = {
    "fraction_train": 1.0,
    "fraction_evaluate": 1.0,
    "min_train_nodes": 1,
    "min_evaluate_nodes": 1,
    "min_available_nodes": 1,
}
"""The grid offers a round's cohort and nobody else."""
SHARED_CLIENT = -1


def host_strategy(choice: Mapping[str, Any], context: MethodContext) -> Method:
    if flwr.__version__ != flower_version():
        raise TributaryError(
            f"Flower {flwr.__version__} is installed, and Tributary knows the strategies of {flower_version()}: "
            "install that one, or write the table anew with `python -m workers.strategies._flower_inspection`."
        )
    with quiet_flower(), keyed_generators(context.spec.seed, 0, BUILDING):
        strategy = make_strategy(choice, context)
    parts = list(with_inner(strategy))
    mods = [mod for part in parts for mod in mods_for(part)]
    known = [PROXIMAL_MU, *([CLIPPING_NORM] if mods else [])]
    return Method(HostedStrategy(strategy, context, known, mods), RequestedProximalTerm())


def make_strategy(choice: Mapping[str, Any], context: MethodContext) -> Strategy:
    """The innermost first; a constructor's own refusal becomes the run's."""
    path = choice[CLASS]
    facts = class_facts(path)
    given = {
        name: make_strategy(value, context) if facts.arguments[name].kind == "strategy" else value
        for name, value in choice.get(ARGUMENTS, {}).items()
    }
    engine = {name: value for name, value in engine_arguments(context).items() if name in facts.arguments}
    try:
        strategy: Strategy = load_class(path)(**{**engine, **given})
    except (TypeError, ValueError) as error:
        raise TributaryError(f"{facts.name} cannot be made with these arguments: {error}") from error
    for name, value in EVERYBODY.items():
        if name in vars(strategy):
            setattr(strategy, name, value)
    return strategy


def engine_arguments(context: MethodContext) -> dict[str, Any]:
    spec = context.spec
    shared = SHARED_CLIENT in context.samples
    return {
        **EVERYBODY,
        "client_learning_rate": spec.local.optimizer.model_dump()["lr"],
        "train_loss_key": TRAIN_LOSS,
        SAMPLED_CLIENTS: min(spec.cohort_size, spec.candidates) + shared,
    }


def with_inner(strategy: Strategy) -> Iterator[Strategy]:
    yield strategy
    for value in vars(strategy).values():
        if isinstance(value, Strategy):
            yield from with_inner(value)


def mods_for(strategy: Strategy) -> Iterator[Mod]:
    if isinstance(strategy, DifferentialPrivacyClientSideFixedClipping):
        yield fixedclipping_mod
    if isinstance(strategy, DifferentialPrivacyClientSideAdaptiveClipping):
        yield adaptiveclipping_mod


class RequestedProximalTerm(LocalRule):
    """The gradient gains mu (w - w_t), with the mu that the server sends: the term of FedProx, squared as in its paper.

    Flower's own example for clients leaves the square out.
    """

    def terms(self, work: LocalWork) -> Terms:
        return Terms(pull=float(work.config.get(PROXIMAL_MU, 0.0)))
