"""What every route's answers have in common."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from ninja import Schema
from pydantic import ConfigDict, Field

Id = Annotated[int, Field(ge=1, lt=2**63)]
Number = float | Literal["NaN", "Infinity", "-Infinity"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
Item = TypeVar("Item")
STATUS_MEANINGS = {
    400: "The body is not JSON, or what was asked for cannot be made",
    401: "Nobody is logged in, or the token is wrong, revoked or expired",
    403: "The person, or the token, may not do this",
    404: "There is no such thing",
    409: "It is not in a state in which this can be done",
    413: "The body is too large",
    422: "Something in the request is wrong; each problem is listed with its path",
    429: "Too many requests: wait as long as Retry-After says",
}


def example_config(**example: Any) -> ConfigDict:
    """A model whose fields have docstrings, with one example of the whole."""
    return ConfigDict(use_attribute_docstrings=True, json_schema_extra={"examples": [example]})


class Answer(Schema):
    model_config = ConfigDict(use_attribute_docstrings=True)


class ProblemAnswer(Answer):
    model_config = example_config(
        path="blocks.0.strategy.mu", message="Input should be greater than or equal to 0, got -1."
    )

    path: str
    """Where, as written; empty where it is the whole."""
    message: str
    """What is wrong there."""


class ErrorAnswer(Answer):
    model_config = example_config(detail="There is no such thing.", errors=[])

    detail: str
    """What happened, and what to do."""
    errors: list[ProblemAnswer] = []
    """Each problem, where there are several or it has a place."""


def error_responses(*statuses: int) -> dict[int, type[ErrorAnswer]]:
    """How a route may refuse; everyone may be unknown, malformed or too many."""
    return dict.fromkeys(sorted({401, 422, 429, *statuses}), ErrorAnswer)


class Page(Answer, Generic[Item]):
    count: int
    """How many there are in all."""
    next: str | None
    """Give it as `cursor` to get the next page; null on the last one."""
    items: list[Item]
    """This page."""
