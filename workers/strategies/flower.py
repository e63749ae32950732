"""Flower's own strategies, and a lab's, as they are: named by class, with the arguments of their constructor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationInfo, create_model, field_validator

from workers.catalog.component import Parameters, Strategy
from workers.errors import Problem
from workers.strategies._flower_classes import (
    PUBLIC_PACKAGE,
    Argument,
    ClassFacts,
    UnusableClassError,
    class_facts,
    flower_version,
    is_stock,
    plugin_digest,
    stock_classes,
)

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.spec import RunSpec

CLASS, ARGUMENTS = "class", "arguments"
COHORT = "the spec decides who takes part: set cohort or fraction instead."
KEYS = "the engine decides how records are called: leave it out."
OWNED_BY_SPEC = {
    "fraction_train": COHORT,
    "min_train_nodes": COHORT,
    "min_available_nodes": COHORT,
    "fraction_evaluate": "the spec decides who evaluates: set evaluation instead.",
    "min_evaluate_nodes": "the spec decides who evaluates: set evaluation instead.",
    "weighted_by_key": "clients are weighted by their samples: leave it out.",
    "arrayrecord_key": KEYS,
    "configrecord_key": KEYS,
    "train_loss_key": "clients report their mean loss while training: leave it out.",
    "client_learning_rate": "it is that of the clients: set local.optimizer.lr instead.",
    "eta_l": "it is the clients' learning rate: set local.optimizer.lr instead.",
}
SAMPLED_CLIENTS = "num_sampled_clients"
KIND_WORDS = {
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "text": "a text",
    "any": "a number, a text, true or false, or a list",
    "list": "a list (written [[...]], since a list alone is an axis)",
}
Limit = tuple[float, float, bool, bool]
ABOVE_ZERO: Limit = (0, math.inf, False, True)
ZERO_OR_MORE: Limit = (0, math.inf, True, True)
LIMITS: dict[str, Limit] = {
    "beta": (0, 0.5, True, False),
    "clip_norm_lr": ABOVE_ZERO,
    "clipped_count_stddev": ZERO_OR_MORE,
    "clipping_norm": ABOVE_ZERO,
    "initial_clipping_norm": ABOVE_ZERO,
    "noise_multiplier": ZERO_OR_MORE,
    "num_malicious_nodes": ZERO_OR_MORE,
    "num_nodes_to_select": (1, math.inf, True, True),
    "num_sampled_clients": (1, math.inf, True, True),
    "proximal_mu": ZERO_OR_MORE,
    "target_clipped_quantile": (0, 1, True, True),
}
"""Of Flower's own: from, to, and whether these are in. Its constructors refuse most of what lies beyond."""
PRIVATE = "DifferentialPrivacy"


def whole_numbers_as_floats(arguments: Any, info: ValidationInfo) -> Any:
    """1 and 1.0 are one value where a number is expected, so that they are one run."""
    return normalise_arguments(info.data.get(CLASS), arguments)


def normalise_arguments(path: Any, arguments: Any) -> Any:
    """What is wrong stays as it is, to be told with its place. So does what a class of a lab's own is given: not every

    process can look at it, and all of them must read a spec alike.
    """
    if not isinstance(path, str) or not isinstance(arguments, Mapping) or not is_stock(path):
        return arguments
    try:
        kinds = {name: argument.kind for name, argument in class_facts(path).arguments.items()}
    except UnusableClassError:
        return arguments
    return {name: normalise_value(kinds.get(name), value) for name, value in arguments.items()}


def normalise_value(kind: str | None, value: Any) -> Any:
    if kind == "number" and type(value) is int:
        return float(value)
    if kind == "strategy" and isinstance(value, Mapping) and ARGUMENTS in value:
        return {**value, ARGUMENTS: normalise_arguments(value.get(CLASS), value[ARGUMENTS])}
    return value


FIELDS: dict[str, Any] = {
    CLASS: (
        str,
        Field(
            f"{PUBLIC_PACKAGE}.FedAvg",
            description="One of Flower's, or file and class of your own such as strategies._mine.MyStrategy.",
            examples=stock_classes(),
        ),
    ),
    ARGUMENTS: (
        dict[str, Any],
        Field(
            default_factory=dict,
            description=(
                "What its constructor takes, such as {eta: 0.1}; a list is an axis. A wrapper's `strategy` is "
                "{class: ..., arguments: {...}}."
            ),
            json_schema_extra={"default": {}},
        ),
    ),
}
"""`class` is a word of Python's, so that this field cannot be written as others are."""
FlowerParameters = create_model(
    "FlowerParameters",
    __base__=Parameters,
    __module__=__name__,
    __validators__={"normalise": field_validator(ARGUMENTS)(whole_numbers_as_floats)},
    **FIELDS,
)


class Flower(Strategy):
    """A strategy of Flower's own, or one that a lab has written for Flower, unchanged.

    `class` names it, `arguments` go to its constructor; its `configure_train` and `aggregate_train` do the work. The
    spec decides who takes part, clients train as for every strategy (FedProx's proximal term and the clipping of the
    client-side privacy wrappers included), and evaluation is the engine's. It sees the parameters; batch statistics are
    averaged by samples. docs/flower.md says what each of Flower's does here.
    """

    name = "flower"
    label = "Flower strategy"
    paper = "Beutel et al.: Flower: A Friendly Federated Learning Research Framework, 2020"
    Params = FlowerParameters
    keeps_its_model = True

    @property
    def stamp(self) -> str:
        return f"{self.version}+flwr-{flower_version()}"

    def stamp_in(self, spec: RunSpec) -> str:
        """With the content of a lab's own files."""
        digests = [plugin_digest(path) for path in class_paths(strategy_choice(spec)) if not is_stock(path)]
        return "+".join([self.stamp, *digests])

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from choice_problems(strategy_choice(spec), "strategy", spec)

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.strategies._flower import host_strategy

        return host_strategy(params.model_dump(), context)


def strategy_choice(spec: RunSpec) -> dict[str, Any]:
    return spec.strategy.model_dump()


def class_paths(choice: Mapping[str, Any]) -> Iterator[str]:
    """Of the strategy, and of those inside its arguments."""
    yield choice[CLASS]
    for value in choice.get(ARGUMENTS, {}).values():
        if isinstance(value, Mapping) and CLASS in value:
            yield from class_paths(value)


def choice_problems(choice: Mapping[str, Any], path: str, spec: RunSpec) -> Iterator[Problem]:
    try:
        facts = class_facts(choice[CLASS])
    except UnusableClassError as error:
        yield Problem(f"{path}.{CLASS}", error.detail)
        return
    if not facts.complete:
        return
    arguments = choice.get(ARGUMENTS, {})
    mistakes = list(argument_problems(facts, arguments, f"{path}.{ARGUMENTS}", spec, stock=is_stock(choice[CLASS])))
    yield from mistakes
    if not mistakes:
        yield from fit_problems(facts.name, arguments, path, spec)


def argument_problems(
    facts: ClassFacts, arguments: Mapping[str, Any], path: str, spec: RunSpec, *, stock: bool
) -> Iterator[Problem]:
    offered = [name for name, each in facts.arguments.items() if each.kind != "object" and name not in OWNED_BY_SPEC]
    for name, value in arguments.items():
        place = f"{path}.{name}"
        argument = facts.arguments.get(name)
        if name in OWNED_BY_SPEC and (argument or stock):
            yield Problem(place, f"Not an argument here: {OWNED_BY_SPEC[name]}")
        elif argument is None:
            known = f"It takes {', '.join(offered)}." if offered else "It takes none."
            yield Problem(place, f"{facts.name} has no such argument. {known}")
        elif argument.kind == "strategy":
            yield from inner_problems(value, place, spec)
        elif message := value_problem(argument, value) or (limit_problem(name, value) if stock else None):
            yield Problem(place, message)
    for name, argument in facts.arguments.items():
        given = name in arguments or name in OWNED_BY_SPEC or name == SAMPLED_CLIENTS
        if argument.required and not given:
            yield Problem(path, f"{facts.name} needs {name}.")


def inner_problems(value: Any, path: str, spec: RunSpec) -> Iterator[Problem]:
    if (
        not isinstance(value, Mapping)
        or not isinstance(value.get(CLASS), str)
        or not isinstance(value.get(ARGUMENTS, {}), Mapping)
        or value.keys() - {CLASS, ARGUMENTS}
    ):
        yield Problem(path, "Expected a strategy such as {class: flwr.serverapp.strategy.FedAvg, arguments: {}}.")
    else:
        yield from choice_problems(value, path, spec)


def value_problem(argument: Argument, value: Any) -> str | None:
    if argument.kind == "object":
        return (
            "It takes a function or an object, which no spec can hold: derive a class of your own that sets it, in a "
            "plugin folder."
        )
    if value is None and argument.nullable:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return f"Expected a finite number, got {value!r}."
    if has_kind(argument.kind, value):
        return None
    return f"Expected {KIND_WORDS[argument.kind]}, got {value!r}."


def has_kind(kind: str, value: Any) -> bool:
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "any":
        return isinstance(value, bool | int | float | str | list)
    return type(value) is {"integer": int, "boolean": bool, "text": str, "list": list}[kind]


def limit_problem(name: str, value: Any) -> str | None:
    if name not in LIMITS or value is None:
        return None
    low, high, with_low, with_high = LIMITS[name]
    if (low < value or (with_low and value == low)) and (value < high or (with_high and value == high)):
        return None
    words = [f"{low:g} or more" if with_low else f"above {low:g}"]
    if high < math.inf:
        words.append(f"{high:g} at most" if with_high else f"below {high:g}")
    return f"It must be {', '.join(words)}, got {value:g}."


def clients_per_round(spec: RunSpec) -> int:
    """The shared client of hybrid sharing comes on top."""
    return min(spec.cohort_size, spec.candidates) + (spec.hybrid.ratio > 0)


def fit_problems(name: str, arguments: Mapping[str, Any], path: str, spec: RunSpec) -> Iterator[Problem]:
    """What a strategy of Flower's cannot do with the rest of the spec."""
    clients = clients_per_round(spec)
    given = arguments.get(SAMPLED_CLIENTS, clients)
    if given != clients:
        yield Problem(
            f"{path}.{ARGUMENTS}.{SAMPLED_CLIENTS}",
            f"A round has {clients} clients, not {given}: leave it out, which means {clients}.",
        )
    if name == "Bulyan" and clients < (least := 4 * arguments.get("num_malicious_nodes", 0) + 3):
        yield Problem(
            f"{path}.{ARGUMENTS}.num_malicious_nodes",
            f"Bulyan aggregates nothing with fewer than 4 num_malicious_nodes + 3 = {least} clients a round; it has "
            f"{clients}.",
        )
    if name.startswith(PRIVATE):
        yield from privacy_problems(name, arguments, path, spec)


def privacy_problems(name: str, arguments: Mapping[str, Any], path: str, spec: RunSpec) -> Iterator[Problem]:
    from workers.catalog import load_catalog

    if load_catalog().models[spec.model.name].batch_statistics(spec.model):
        yield Problem(
            "model", f"Batch statistics would leave the clients without noise under {name}: take a norm without them."
        )
    deviation = arguments.get("clipped_count_stddev")
    deviation = clients_per_round(spec) / 20 if deviation is None else deviation
    noise = arguments["noise_multiplier"]
    if "Adaptive" in name and noise > 0 and noise >= 2 * deviation:
        yield Problem(
            f"{path}.{ARGUMENTS}.noise_multiplier",
            f"It must be below twice clipped_count_stddev, which is {deviation:g} (unless given, a twentieth of the "
            "round's clients).",
        )
