"""How a strategy of one's own is declared: parameters, what is remembered, and formulas, in one class."""

from __future__ import annotations

import difflib
import inspect
import re
from copy import copy
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self, cast, get_type_hints

from pydantic import Field, create_model

from workers.catalog.component import Parameters, Strategy
from workers.catalog.discovery import KeepDescriptions

if TYPE_CHECKING:
    from workers.engine.server.method import Method, MethodContext
    from workers.strategies.simple._clients import ClientView
    from workers.strategies.simple._server import Replies, ServerView
    from workers.strategies.simple._weights import Weights

API_VERSION = 1
"""Of `workers.plugin`: whatever it has keeps its name and its meaning while this number stays."""
HOOKS: dict[str, tuple[str, ...]] = {
    "before": ("client", "w"),
    "gradient": ("client", "grad", "w"),
    "after_step": ("client", "w"),
    "after": ("client", "w"),
    "aggregate": ("server", "replies"),
}
"""What a class may override, with the names of the arguments."""
DECLARATIONS = ("client_state", "server_state", "broadcast", "private", "api_version")
STATE_KINDS = ("zeros", "model")
CLIENT_WORDS = ("start", "samples", "steps", "round", "lr", "server", "send", "normal", "full_gradient", "loss")
SERVER_WORDS = ("w", "clients", "samples", "round", "report", "normal")
"""What `client` and `server` have besides the state, which therefore cannot have these names."""

StateKind = Literal["zeros", "model"] | float


@dataclass(frozen=True)
class ParameterDeclaration:
    default: Any
    options: dict[str, Any] = field(default_factory=dict)


def param(
    default: Any,
    *,
    help: str = "",  # noqa: A002
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    le: float | None = None,
) -> Any:
    """A parameter of the strategy: what it is unless a study says otherwise, its bounds, and what the form says of it.

    Its type is the annotation, or that of the default. In the methods `self.<name>` is the value of the run.
    """
    bounds = {"gt": gt, "ge": ge, "lt": lt, "le": le}
    options = {name: bound for name, bound in bounds.items() if bound is not None}
    return ParameterDeclaration(default, {**options, "description": help or None})


@dataclass(frozen=True)
class LayerChoice:
    """Layers of whatever model a run has: the last so many, or those of batch normalisation."""

    kind: Literal["last", "norm"]
    count: int = 0


def last_layers(count: int = 1) -> LayerChoice:
    """The last so many layers that have parameters."""
    if type(count) is not int or count < 1:
        raise ValueError(f"last_layers takes a whole number from 1, not {count!r}.")
    return LayerChoice("last", count)


def norm_layers() -> LayerChoice:
    """All that belongs to batch normalisation."""
    return LayerChoice("norm")


class SimpleStrategy(Strategy):
    """FedAvg, of which a class derived from it declares what is different; docs/plugins.md explains it all.

    Methods are called for many clients at once: `w`, `grad` and the state are `Weights`, values to reckon with whose
    rows belong to the clients. Name and label follow from the class's name unless they are given.
    """

    client_state: ClassVar[dict[str, StateKind]] = {}
    """What each client keeps between rounds, with what it begins as: "zeros", "model", or a number."""
    server_state: ClassVar[dict[str, StateKind]] = {}
    """What the server keeps between rounds, likewise."""
    broadcast: ClassVar[tuple[str, ...]] = ()
    """What of the server's state is sent along with the model: `client.server.<name>`."""
    private: Any = None
    """Layers that stay with the clients: `last_layers(1)`, `norm_layers()`, or a property that returns one of these."""
    api_version: ClassVar[int] = API_VERSION
    """The version of `workers.plugin` that the class was written for."""

    def before(self, client: ClientView, w: Weights) -> Weights | None:
        """Before a client's first step in a round; what it returns is where the client starts."""
        return None

    def gradient(self, client: ClientView, grad: Weights, w: Weights) -> Weights:
        """At each local step: the gradient that the optimizer gets."""
        return grad

    def after_step(self, client: ClientView, w: Weights) -> Weights | None:
        """After each step of the optimizer; what it returns takes the place of `w`."""
        return None

    def after(self, client: ClientView, w: Weights) -> Weights | None:
        """After a client's last step in a round; what it returns is sent in place of `w`."""
        return None

    def aggregate(self, server: ServerView, replies: Replies) -> Weights:
        """The new model."""
        return replies.mean()

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = vars(cls)
        if "name" not in own:
            cls.name = kebab_case(cls.__name__)
        if "label" not in own:
            cls.label = cls.__name__
        declared = {name: value for name, value in own.items() if isinstance(value, ParameterDeclaration)}
        for name in declared:
            if hasattr(SimpleStrategy, name) or hasattr(Parameters, name):
                raise TypeError(f"{cls.__name__}: a parameter cannot be called {name}, which means something already.")
        check_spelling(cls)
        check_hooks(cls)
        check_state(cls)
        if declared:
            cls.Params = parameter_model(cls, declared)
        for name, declaration in declared.items():
            setattr(cls, name, declaration.default)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__}.{name} cannot be assigned: clients are computed together and runs go on from "
            "checkpoints, so what is remembered is declared, as client_state or server_state."
        )

    def configured(self, params: Any) -> Self:
        """The strategy of one run, its parameters as attributes."""
        strategy = copy(self)
        vars(strategy).update({name: getattr(params, name) for name in type(params).model_fields if name != "name"})
        return strategy

    def sends_models(self, params: Any) -> bool:
        return self.configured(params).private is None

    def build(self, params: Any, context: MethodContext) -> Method:
        from workers.strategies.simple._method import make_method

        return make_method(self.configured(params), context)


def kebab_case(name: str) -> str:
    """FedDyn is fed-dyn, FedSGDPlus is fed-sgd-plus."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).strip("_").lower()


def parameter_model(cls: type[SimpleStrategy], declared: dict[str, ParameterDeclaration]) -> type[Parameters]:
    hints = parameter_types(cls, declared)
    fields: dict[str, Any] = {
        name: (hints[name], Field(each.default, validate_default=True, **each.options))
        for name, each in declared.items()
    }
    bases = cast(tuple[type[Parameters], ...], (cls.Params, KeepDescriptions))
    return create_model(f"{cls.__name__}Parameters", __base__=bases, __module__=cls.__module__, **fields)


def parameter_types(cls: type[SimpleStrategy], declared: dict[str, ParameterDeclaration]) -> dict[str, Any]:
    """Annotations may be texts, and those of other attributes may name what is only imported for a type checker."""
    annotations = {name: hint for name, hint in inspect.get_annotations(cls).items() if name in declared}
    only_these = type(cls.__name__, (), {"__annotations__": annotations, "__module__": cls.__module__})
    return {name: type(each.default) for name, each in declared.items()} | get_type_hints(only_these)


def check_spelling(cls: type[SimpleStrategy]) -> None:
    """A method of an almost right name would never be called."""
    for name in vars(cls):
        if name.startswith("_") or hasattr(SimpleStrategy, name):
            continue
        if close := difflib.get_close_matches(name, [*HOOKS, *DECLARATIONS], n=1, cutoff=0.8):
            raise TypeError(f"{cls.__name__}.{name} means nothing here: write {close[0]}, or _{name} for a helper.")


def check_hooks(cls: type[SimpleStrategy]) -> None:
    for name, arguments in HOOKS.items():
        method = vars(cls).get(name, getattr(SimpleStrategy, name))
        try:
            inspect.signature(method).bind(None, *arguments)
        except (TypeError, ValueError):
            raise TypeError(
                f"{cls.__name__}.{name} must be a method: def {name}(self, {', '.join(arguments)})."
            ) from None


def check_state(cls: type[SimpleStrategy]) -> None:
    if cls.api_version > API_VERSION:
        raise TypeError(
            f"{cls.__name__} was written for version {cls.api_version} of workers.plugin, and this Tributary has "
            f"{API_VERSION}: update Tributary."
        )
    for attribute, taken in (("client_state", CLIENT_WORDS), ("server_state", SERVER_WORDS)):
        state = getattr(cls, attribute)
        if not isinstance(state, dict):
            raise TypeError(f'{cls.__name__}.{attribute} must be a dict, such as {{"h": "zeros"}}.')
        for name, kind in state.items():
            if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
                raise TypeError(f"{cls.__name__}.{attribute}: {name!r} is no name of an attribute.")
            if name in taken:
                raise TypeError(f"{cls.__name__}.{attribute}: {name} means something already; choose another name.")
            if kind not in STATE_KINDS and (not isinstance(kind, Real) or isinstance(kind, bool)):
                raise TypeError(f'{cls.__name__}.{attribute}: {name} begins as "zeros", "model" or a number.')
    if isinstance(cls.broadcast, str) or (unknown := [each for each in cls.broadcast if each not in cls.server_state]):
        missing = cls.broadcast if isinstance(cls.broadcast, str) else ", ".join(unknown)
        raise TypeError(f'{cls.__name__}.broadcast: {missing} must be in server_state; write broadcast = ("...",).')
    if not isinstance(cls.private, LayerChoice | property | None):
        raise TypeError(f"{cls.__name__}.private must be last_layers(...), norm_layers() or a property.")
