"""GET /studies/{id}/summary: a study in a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from experiments.api.schemas import Id, refusals
from experiments.api.study_schemas import SummaryAnswer
from experiments.models import Study
from experiments.selectors.run_filters import known_paths
from experiments.selectors.summaries import study_summary
from experiments.services.numbers import plain_text
from workers.errors import Problem, SpecError

router = Router(tags=["studies"])
LATEST = 2**31 - 1


class SummaryQuery(Schema):
    by: str = Field(
        "",
        max_length=2000,
        description="Fields to group by, with commas between; empty: every field in which the runs differ.",
        examples=["strategy,partition"],
    )
    metric: str = Field("accuracy", max_length=100, description="Which number.", examples=["accuracy"])
    rounds: str = Field(
        "",
        pattern=r"^(\d{1,10}(,\d{1,10}){0,19})?$",
        description="Rounds, with commas between, at most 20; empty: the last round of each run that is done.",
        examples=["10,20,50"],
    )


@router.get("/{study}/summary", response={200: SummaryAnswer, **refusals(404)}, summary="Its results in a table")
def summary(request: HttpRequest, study: Id, wanted: Query[SummaryQuery]) -> Any:
    """Mean and spread over the runs that share the fields in `by`, which are their seeds unless more is left out."""
    one = get_object_or_404(Study, pk=study)
    by = [path.strip() for path in wanted.by.split(",") if path.strip()]
    if unknown := [path for path in by if path not in known_paths()]:
        raise SpecError([Problem("by", f"There is no field {path}: name one as strategy.mu.") for path in unknown])
    rounds = [min(int(each), LATEST) for each in wanted.rounds.split(",") if each]
    found = study_summary(study=one.pk, metric=plain_text(wanted.metric), by=by, rounds=rounds)
    return {"study": one.pk, "metric": wanted.metric, **asdict(found)}
