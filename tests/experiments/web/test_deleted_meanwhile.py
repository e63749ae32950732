"""A study that somebody deletes while a page of it is being made: an older page or "not found", never an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from experiments.models import Run, RunState, Study, User
from experiments.studies.services.deletion import study_delete
from tests.experiments import lab

PLACES = [
    "/studies/{study}",
    "/studies/{study}/figure?metric=accuracy",
    "/studies/{study}/runs",
    "/studies/{study}/displays",
    "/studies/{study}/study.yaml",
    "/studies/{study}/deletion",
    "/studies/new?from={study}",
    "/runs/{run}",
    "/runs/{run}/figure?metric=accuracy",
    "/runs/{run}/clients",
    "/runs/{run}/log",
    "/queue?study={study}",
    "/compare?study={study}",
    "/",
    "/api/v1/studies/{study}",
    "/api/v1/studies/{study}/runs",
    "/api/v1/studies/{study}/summary",
    "/api/v1/runs/{run}",
    "/api/v1/runs/{run}/metrics",
]


class After:
    """Calls `action` once, behind the n-th query."""

    def __init__(self, number: int, action: Callable[[], object]) -> None:
        self.left, self.action = number, action

    def __call__(self, execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        result = execute(sql, params, many, context)
        self.left -= 1
        if self.left == 0:
            self.action()
        return result


def read(client: Client, place: str, owner: User, number: int) -> tuple[int, bool]:
    """The answer's status, and whether the study was deleted before it."""
    study = lab.launched(owner)
    run = lab.record(lab.runs_in_order(study)[0], {"accuracy": [0.1, 0.5]}, RunState.RUNNING)
    after = After(number, lambda: study_delete(study=study, actor=owner))
    with connection.execute_wrapper(after):
        answer = client.get(place.format(study=study.pk, run=run.pk))
    Run.objects.all().delete()
    Study.objects.all().delete()
    return answer.status_code, after.left <= 0


@pytest.mark.parametrize("place", PLACES)
def test_it_is_shown_as_it_was_or_not_found(place: str, owner: User, db: None) -> None:
    client = Client(raise_request_exception=True)
    client.force_login(owner)
    number = 0
    answers: list[tuple[int, bool]] = []
    while not answers or answers[-1][1]:
        number += 1
        answers.append(read(client, place, owner, number))
    assert {status for status, _ in answers} <= {200, 404}, [status for status, _ in answers]
