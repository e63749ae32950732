"""Weights: the parameters of a model, or of many clients' models, as one value to reckon with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any, cast

import torch

from workers.engine.messages.arrays import Tensors
from workers.errors import TributaryError

Operation = Callable[[Any, Any], torch.Tensor]


class WeightsError(TributaryError, TypeError):
    """Weights that do not go together, or something else in their place."""


class Weights:
    """Tensors by parameter. With `clients` each has a row for each of so many clients.

    They reckon element by element with other weights, with numbers, and with tensors that have a number for each
    client. A value never changes: `w -= x` makes a new one.
    """

    __slots__ = ("clients", "tensors")
    __array_ufunc__ = None  # a number of NumPy's leaves it to Weights

    def __init__(self, tensors: Mapping[str, torch.Tensor], clients: int | None = None) -> None:
        self.tensors, self.clients = tensors, clients

    def __getitem__(self, name: str) -> torch.Tensor:
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def items(self) -> Iterator[tuple[str, torch.Tensor]]:
        return iter(self.tensors.items())

    def __repr__(self) -> str:
        owner = "one model" if self.clients is None else f"{self.clients} clients"
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in self.items())
        return f"<Weights of {owner}: {shapes}>"

    def __add__(self, other: Any) -> Weights:
        return self.combined(torch.add, other)

    def __radd__(self, other: Any) -> Weights:
        return self.combined(torch.add, other)

    def __sub__(self, other: Any) -> Weights:
        return self.combined(torch.sub, other)

    def __rsub__(self, other: Any) -> Weights:
        return self.combined(lambda own, given: given - own, other)

    def __mul__(self, other: Any) -> Weights:
        return self.combined(torch.mul, other)

    def __rmul__(self, other: Any) -> Weights:
        return self.combined(torch.mul, other)

    def __truediv__(self, other: Any) -> Weights:
        return self.combined(torch.div, other)

    def __rtruediv__(self, other: Any) -> Weights:
        return self.combined(lambda own, given: given / own, other)

    def __pow__(self, other: Any) -> Weights:
        return self.combined(torch.pow, other)

    def __neg__(self) -> Weights:
        return self.map(torch.neg)

    def abs(self) -> Weights:
        return self.map(torch.abs)

    def sign(self) -> Weights:
        return self.map(torch.sign)

    def sqrt(self) -> Weights:
        return self.map(torch.sqrt)

    def clamp(self, least: float | None = None, most: float | None = None) -> Weights:
        return self.map(lambda each: each.clamp(min=least, max=most))

    def map(self, function: Callable[..., torch.Tensor], *others: Weights) -> Weights:
        """Whatever that makes of each parameter's tensor, and of the others' beside it."""
        clients = common_clients(self, *others)
        tensors = {name: function(each, *(other[name] for other in others)) for name, each in self.items()}
        return Weights(tensors, clients)

    def dot(self, other: Weights) -> torch.Tensor:
        """The inner product over all parameters: a number, or one for each client."""
        products = self * other
        if products.clients is None:
            return torch.stack([each.sum() for _, each in products.items()]).sum(0)
        rows = products.clients
        return torch.stack([each.reshape(rows, -1).sum(1) for _, each in products.items()]).sum(0)

    def norm(self) -> torch.Tensor:
        """The length over all parameters."""
        return self.dot(self).sqrt()

    def sum(self, weights: torch.Tensor | None = None) -> Weights:
        """Over the clients, each times its number in `weights`."""
        if self.clients is None:
            raise WeightsError("These weights are one model: only those of clients can be summed or averaged.")
        factors = torch.ones(self.clients) if weights is None else weights
        require_per_client(factors, self.clients)
        return self.reduced(factors)

    def mean(self, weights: torch.Tensor | None = None) -> Weights:
        """Over the clients, each counting as `weights` says; all the same unless given."""
        return self.sum() / (self.clients or 1) if weights is None else self.sum(weights / weights.sum())

    def reduced(self, factors: torch.Tensor) -> Weights:
        return Weights({name: torch.tensordot(factors.to(each), each, dims=1) for name, each in self.items()})

    def combined(self, operation: Operation, other: Any) -> Weights:
        if isinstance(other, Weights):
            return self.map(operation, other)
        if isinstance(other, torch.Tensor) and other.ndim:
            require_per_client(other, self.clients)
            return self.map(lambda each: operation(each, other.to(each).view(-1, *[1] * (each.ndim - 1))))
        if isinstance(other, torch.Tensor | Real):
            return self.map(lambda each: operation(each, other))
        return cast(Weights, NotImplemented)


def common_clients(*weights: Weights) -> int | None:
    if any(list(each) != list(weights[0]) for each in weights):
        raise WeightsError(f"These weights have other parameters: {weights[0]!r} and {weights[-1]!r}.")
    numbers = {each.clients for each in weights if each.clients is not None}
    if len(numbers) > 1:
        raise WeightsError(f"These weights are of other clients: {' and '.join(map(str, sorted(numbers)))} of them.")
    return numbers.pop() if numbers else None


def require_per_client(numbers: torch.Tensor, clients: int | None) -> None:
    if clients is None or numbers.shape != (clients,):
        owner = "one model" if clients is None else f"{clients} clients"
        raise WeightsError(
            f"A tensor of shape {tuple(numbers.shape)} does not go with weights of {owner}: take a number, or a tensor "
            "with a number for each client."
        )


def tensors_like(value: object, like: Mapping[str, torch.Tensor], place: str) -> Tensors:
    """What a method returned or assigned, if it has the parameters and shapes that it must have."""
    if not isinstance(value, Weights):
        raise WeightsError(f"{place} must be weights, and not {described(value)}.")
    if list(value) != list(like):
        raise WeightsError(f"{place} must have the parameters {', '.join(like)}, and has {', '.join(value)}.")
    for name, tensor in value.items():
        if not isinstance(tensor, torch.Tensor) or tensor.shape != like[name].shape:
            raise WeightsError(
                f"{place} must have {name} of shape {tuple(like[name].shape)}, and not {described(tensor)}."
            )
    return {name: tensor.to(like[name].dtype) for name, tensor in value.items()}


def number_like(value: object, like: torch.Tensor, place: str) -> torch.Tensor:
    """A number, or one for each client."""
    if isinstance(value, Real) or (isinstance(value, torch.Tensor) and value.shape in (like.shape, ())):
        return torch.as_tensor(value).to(like).expand(like.shape)
    wanted = f"a number for each of {len(like)} clients" if like.ndim else "a number"
    raise WeightsError(f"{place} must be {wanted}, and not {described(value)}.")


def described(value: object) -> str:
    if value is None:
        return "None (is a return missing?)"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return repr(value) if isinstance(value, Weights | Real | str) else f"a {type(value).__name__}"
