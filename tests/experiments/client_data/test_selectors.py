"""What the clients of a run held, where that can still be told."""

from __future__ import annotations

from typing import Any

from django.test import Client

from experiments.models import Run, User
from experiments.studies.services.launch import study_launch

Block = dict[str, Any]


def test_clients_of_a_run_are_not_drawn_from_data_it_never_had(
    as_owner: Client, owner: User, own: Any, own_block: Block
) -> None:
    run = study_launch(owner=owner, name="Own data", blocks=[{**own_block, "seeds": 1}]).runs.get()
    assert as_owner.get(f"/api/v1/runs/{run.pk}/partition").json()["samples"] == 60
    own()
    answer = as_owner.get(f"/api/v1/runs/{run.pk}/partition")
    assert (answer.status_code, answer.json()["detail"]) == (
        400,
        "The data set, or the code that parts it, is not the one this run was launched with: what its clients held "
        "cannot be drawn any more.",
    )
    Run.objects.filter(pk=run.pk).update(provenance={})
    assert as_owner.get(f"/api/v1/runs/{run.pk}/partition").json()["samples"] == 60
