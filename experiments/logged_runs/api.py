"""POST /logged-runs, .../rounds and .../finish: a script tells of its own training, and may say everything twice."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Body, Router, Schema, Status
from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from experiments.api.schemas import Answer, Id, Number, State, error_responses, example_config
from experiments.logged_runs.services import (
    LoggedRound,
    LoggedStart,
    logged_rounds_record,
    logged_run_finish,
    logged_run_start,
)
from experiments.models import Run
from experiments.web.requests import current_user

router = Router(tags=["logged runs"])
LARGEST_ROUND = 2**31 - 1
START_EXAMPLE: dict[str, Any] = {
    "study": "My own loop",
    "script": "train.py",
    "config": {"lr": 0.1},
    "seed": 0,
    "key": "3f1c2d",
    "provenance": {"commit": "9ab01cd", "torch": "2.13.0"},
}


class StartRequest(Schema):
    model_config = ConfigDict(
        extra="forbid", use_attribute_docstrings=True, json_schema_extra={"examples": [START_EXAMPLE]}
    )

    study: str = Field(max_length=200)
    """The study's name: runs of yours with one name are one study."""
    config: dict[str, StrictBool | StrictInt | StrictFloat | StrictStr] = {}
    """What the run was made with; each key is an axis, `app.KEY`."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Runs that differ only in seed are one cell."""
    script: str = Field("", max_length=100)
    """What is compared with strategies and apps; `script` if left out."""
    key: str = Field("", max_length=200)
    """A word of your own for this run: sent again with it, the same run is answered."""
    provenance: dict[str, str] = Field({}, max_length=50)
    """What else there is to know: commit, versions, host."""


class RoundMessage(Schema):
    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={"examples": [{"round": 3, "metrics": {"accuracy": 0.71, "loss": 0.9}}]},
    )

    round: Annotated[int, Field(ge=0, le=LARGEST_ROUND)]
    """Its number, from 0."""
    metrics: dict[str, Number]
    """Values by name; accuracies are fractions."""


class FinishRequest(Schema):
    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={"examples": [{"state": "failed", "reason": "ValueError: no data"}]},
    )

    state: Literal["done", "failed"] = "done"
    """How it ended."""
    reason: str = Field("", max_length=10_000)
    """Of a failure."""


class LoggedRunAnswer(Answer):
    model_config = example_config(id=41, study=12, state="running", rounds_done=3)

    id: Id
    """The run's number."""
    study: Id | None
    """Its study's number, where it is begun."""
    state: State
    """running, until it is finished, cancelled or silent for too long."""
    rounds_done: int
    """The furthest round."""


@router.post(
    "/logged-runs",
    response={201: LoggedRunAnswer, 200: LoggedRunAnswer, **error_responses(403, 409)},
    summary="Begin a logged run",
)
def start(request: HttpRequest, begin: StartRequest) -> Any:
    """201, or 200 where its key has begun it before. It is at work until it is finished."""
    run, study, new = logged_run_start(owner=current_user(request), start=LoggedStart(**begin.model_dump()))
    return Status(201 if new else 200, run_answer(run, study.pk))


@router.post(
    "/logged-runs/{run}/rounds",
    response={200: LoggedRunAnswer, **error_responses(403, 404, 409)},
    summary="Tell rounds of a logged run",
)
def rounds(request: HttpRequest, run: Id, messages: Body[list[RoundMessage]]) -> Any:
    """Told again, a value takes the place of the one before. The answer's state says whether somebody cancelled it."""
    told = [LoggedRound(each.round, {name: float(value) for name, value in each.metrics.items()}) for each in messages]
    return run_answer(logged_rounds_record(actor=current_user(request), run=run_or_404(run), rounds=told))


@router.post(
    "/logged-runs/{run}/finish",
    response={200: LoggedRunAnswer, **error_responses(403, 404, 409)},
    summary="End a logged run",
)
def finish(request: HttpRequest, run: Id, end: FinishRequest) -> Any:
    """As done, for good, or as failed, which a later round takes back."""
    ended = logged_run_finish(
        actor=current_user(request), run=run_or_404(run), failed=end.state == "failed", reason=end.reason
    )
    return run_answer(ended)


def run_or_404(run: int) -> Run:
    return get_object_or_404(Run, pk=run)


def run_answer(run: Run, study: int | None = None) -> dict[str, Any]:
    return {"id": run.pk, "study": study, "state": run.state, "rounds_done": run.rounds_done}
