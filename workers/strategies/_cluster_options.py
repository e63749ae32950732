"""What the strategies that group their clients have in common, as parameters. No torch in here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from workers.component import Parameters
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec


def one_error(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """A union reports what is wrong once for each of its members, below paths that nobody wrote."""
    try:
        return check(value)
    except ValidationError:
        raise PydanticCustomError("neighbourhood", "Input should be a number above 0, or auto") from None


Neighbourhood = Annotated[Annotated[float, Field(gt=0)] | Literal["auto"], WrapValidator(one_error)]


class ClusterParameters(Parameters):
    eps: Neighbourhood = "auto"
    """Euclidean distance of two neighbours' probe weights; auto parts groups only at a clear gap between distances."""
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
    chosen = spec.strategy
    if isinstance(chosen, ClusterParameters) and chosen.late_clients >= max(1, spec.client_count):
        yield Problem("strategy.late_clients", f"There are {spec.client_count} clients: one at least must be early.")
