"""One cast of people for every test: the owner of a study, a stranger, a viewer, an admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from experiments.models import User, Worker

Block = dict[str, Any]


def person(name: str, role: str) -> User:
    # This file is read before Django is set up.
    from experiments.models import User

    return User.objects.create(username=name, role=role)


@pytest.fixture
def owner(db: None) -> User:
    return person("owner", "member")


@pytest.fixture
def stranger(db: None) -> User:
    """Another member: reads everything, manages nothing of the owner's."""
    return person("stranger", "member")


@pytest.fixture
def viewer(db: None) -> User:
    return person("viewer", "viewer")


@pytest.fixture
def admin(db: None) -> User:
    return person("boss", "admin")


@pytest.fixture
def block() -> Block:
    """Two strategies x two seeds: four runs in two cells."""
    return {
        "dataset": {"name": "digits"},
        "model": {"name": "mlp-50"},
        "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}],
        "clients": 5,
        "rounds": 3,
        "seeds": 2,
    }


@pytest.fixture
def worker(db: None) -> Worker:
    from experiments.queue.services.workers import worker_enlist

    return worker_enlist(name="worker-1@lab", host="lab", device="cpu", threads=1)
