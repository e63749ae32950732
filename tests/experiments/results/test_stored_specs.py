"""Specs that were stored before a value became visible in them."""

from __future__ import annotations

from importlib import import_module

from django.apps import apps

from experiments.models import Run, User
from tests.experiments import lab
from workers.spec import parse_run


def test_what_fedloss_trained_on_is_written_into_its_stored_spec(owner: User) -> None:
    strategies = [{"name": "fedavg"}, {"name": "fedloss"}]
    study = lab.launched(owner, seeds=1, strategy=strategies)
    for run in Run.objects.filter(studies=study):
        run.spec["evaluation"]["validation"] = 0.0
        run.save(update_fields=["spec"])

    import_module("experiments.migrations.0006_validation_in_specs").write_down_validation(apps, None)

    shares = {run.spec["strategy"]["name"]: run.spec["evaluation"]["validation"] for run in Run.objects.all()}
    assert shares == {"fedavg": 0.0, "fedloss": 0.1}
    assert all(parse_run(run.spec) for run in Run.objects.all())
