from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client

    from experiments.models import Study, User


@pytest.fixture
def study(owner: User) -> Study:
    """Two cells of three seeds: fedavg done, fedprox with one run at work, one failed and one queued."""
    # This file is read before Django is set up.
    from tests.experiments import lab

    made = lab.launched(owner)
    runs = lab.runs_in_order(made)
    for run, last in zip(runs[:3], (0.8, 0.9, 1.0), strict=True):
        lab.record(run, {"accuracy": [0.1, 0.5, last], "loss": [2.0, 1.0, 0.5]})
    lab.record(runs[3], {"accuracy": [0.1, 0.4], "loss": [2.0, 1.5]}, lab.RunState.RUNNING)
    lab.moved(runs[4], lab.RunState.FAILED, "Out of memory.\nTraceback")
    return made


@pytest.fixture
def browsers(owner: User, stranger: User, viewer: User, admin: User) -> dict[str, Client]:
    """One for each of the cast, and one of somebody who is not logged in."""
    from django.test import Client

    cast = {"owner": owner, "stranger": stranger, "viewer": viewer, "admin": admin}
    clients = {"nobody": Client(), **{name: Client() for name in cast}}
    for name, who in cast.items():
        clients[name].force_login(who)
    return clients


@pytest.fixture
def as_owner(browsers: dict[str, Client]) -> Client:
    return browsers["owner"]
