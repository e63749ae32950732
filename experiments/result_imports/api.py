"""POST /imports and DELETE /imports/{study}: results of elsewhere in, and out again."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from experiments.api.schemas import Answer, Id, error_responses, example_config
from experiments.logged_runs.api import RoundMessage
from experiments.logged_runs.services import LoggedRound
from experiments.models import Study
from experiments.result_imports.services import KNOWN, NEW, ImportedRun, SourceRun, import_undo, results_import
from experiments.web.requests import current_user

router = Router(tags=["logged runs"])
EXAMPLE: dict[str, Any] = {
    "kind": "csv",
    "source": "results.csv",
    "runs": [
        {
            "study": "Sweep of 2024",
            "name": "a",
            "config": {"lr": 0.1},
            "seed": 0,
            "rounds": [{"round": 1, "metrics": {"accuracy": 0.5}}],
            "failed": False,
        }
    ],
}


class SourceRunMessage(Schema):
    model_config = ConfigDict(
        extra="forbid", use_attribute_docstrings=True, json_schema_extra={"examples": [EXAMPLE["runs"][0]]}
    )

    study: str = Field(max_length=200)
    """The study's name: runs of yours with one name are one study."""
    name: str = Field(max_length=500)
    """What the run is called in its source. It tells the run again when it comes twice."""
    config: dict[str, StrictBool | StrictInt | StrictFloat | StrictStr] = {}
    """What the run was made with; each key is an axis, `app.KEY`."""
    seed: int | None = Field(None, ge=0, lt=2**31)
    """Left out: the config's `seed`, or a number made of the name."""
    rounds: list[RoundMessage]
    """All of its rounds; a number that comes twice counts as it came last."""
    failed: bool = False
    """Whether it did not finish where it was computed."""


class ImportRequest(Schema):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, json_schema_extra={"examples": [EXAMPLE]})

    kind: str = Field(max_length=40)
    """The tool or format: csv, mlflow, ..."""
    source: str = Field("", max_length=1000)
    """The file, folder or address, for the runs' provenance."""
    runs: list[SourceRunMessage]
    """Up to 1,000 runs and 100,000 values at once, and as many as fit into a request."""


class ImportedRunAnswer(Answer):
    model_config = example_config(name="a", study="Sweep of 2024", seed=0, outcome="new", id=41, study_id=12)

    name: str
    """As in the source."""
    study: str
    """The study's name."""
    seed: int
    """Its seed here."""
    outcome: Literal["new", "known", "changed"]
    """known: it is there with the same content. changed: with another one, which only a dry run answers."""
    id: Id | None
    """The run's number; null where a dry run found none."""
    study_id: Id | None
    """Its study's number; null where a dry run found none."""


class ImportAnswer(Answer):
    model_config = example_config(new=1, known=0, runs=[])

    new: int
    """Runs that came in, or would."""
    known: int
    """Runs that were there with the same content."""
    runs: list[ImportedRunAnswer]
    """Each, in the order of the request."""


class UndoAnswer(Answer):
    model_config = example_config(runs=100)

    runs: int
    """How many go."""


class ImportQuery(Schema):
    dry_run: bool = Field(False, description="Write nothing, and tell what would come.", examples=[True])


@router.post(
    "/imports",
    response={200: ImportAnswer, **error_responses(403, 409, 413)},
    summary="Import results of elsewhere",
)
def import_results(request: HttpRequest, body: ImportRequest, query: Query[ImportQuery]) -> Any:
    """All of the runs, or none. They become logged runs; a run that is there already is not doubled."""
    runs = [source_run(each) for each in body.runs]
    imported = results_import(
        owner=current_user(request), kind=body.kind, source=body.source, runs=runs, dry_run=query.dry_run
    )
    counts = {name: sum(each.outcome == name for each in imported) for name in (NEW, KNOWN)}
    return {**counts, "runs": [run_answer(each) for each in imported]}


@router.delete(
    "/imports/{study}",
    response={202: UndoAnswer, **error_responses(403, 404, 409)},
    summary="Take an import back",
)
def undo(request: HttpRequest, study: Id) -> Any:
    """Deletes a study in which every run was imported, in the background: 404 at its address once it is gone."""
    return Status(202, {"runs": import_undo(study=get_object_or_404(Study, pk=study), actor=current_user(request))})


def source_run(message: SourceRunMessage) -> SourceRun:
    merged: dict[int, dict[str, float]] = {}
    for each in message.rounds:
        merged.setdefault(each.round, {}).update({name: float(value) for name, value in each.metrics.items()})
    rounds = [LoggedRound(number, metrics) for number, metrics in sorted(merged.items())]
    return SourceRun(message.study, message.name, message.config, message.seed, rounds, message.failed)


def run_answer(imported: ImportedRun) -> dict[str, Any]:
    return {
        "name": imported.source.name,
        "study": imported.source.study,
        "seed": imported.start.seed,
        "outcome": imported.outcome,
        "id": imported.run,
        "study_id": imported.holder,
    }
