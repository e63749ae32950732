"""One cast of people for every test: the owner of a study, a stranger, a viewer, an admin; browsers, programs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from django.test import Client

    from experiments.models import Study, User, Worker

Block = dict[str, Any]
EXAMPLES = Path(__file__).parents[1] / "workers" / "apps" / "examples"


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
def own(tmp_path: Path) -> Any:
    """Imports own.npz once more, with other numbers each time."""
    import numpy as np

    from workers.catalog import load_catalog

    rng = np.random.default_rng(5)

    def import_again() -> str:
        path = tmp_path / "own.npz"
        np.savez(path, x=rng.random((60, 4)).astype(np.float32), y=np.arange(60) % 3)
        (manifest,) = load_catalog().datasets["npz"].import_path(str(path)).values()  # type: ignore[attr-defined]
        return str(manifest.checksum)

    return import_again


@pytest.fixture
def own_block(own: Any) -> Block:
    own()
    return {
        "dataset": {"name": "npz", "file": "own"},
        "model": {"name": "mlp-50"},
        "strategy": {"name": "fedavg"},
        "clients": 5,
        "rounds": 3,
        "seeds": 2,
    }


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
def apps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The example apps by TRIBUTARY_APPS, and a library in which nothing is added yet: its folder."""
    from workers.apps.library import library_folder

    monkeypatch.setenv("TRIBUTARY_APPS", str(EXAMPLES))
    shutil.rmtree(library_folder(), ignore_errors=True)
    yield library_folder()
    shutil.rmtree(library_folder(), ignore_errors=True)


@pytest.fixture
def app_study(apps: Path, owner: User) -> Study:
    """Three learning rates of an app x three seeds, all done: 0.1 is the best of them."""
    from tests.experiments import lab

    made = lab.launched_app(owner)
    for run in lab.runs_in_order(made):
        last = {0.01: 0.6, 0.1: 0.9, 1.0: 0.3}[run.spec["app"]["config"]["learning-rate"]] + run.seed / 100
        lab.record(run, {"accuracy": [0.1, 0.2, last], "loss": [2.0, 1.5, 1 - last], "seconds": [0.5, 0.5, 1.0]})
    return made


@pytest.fixture
def worker(db: None) -> Worker:
    from experiments.queue.services.workers import worker_enlist

    return worker_enlist(name="worker-1@lab", host="lab", device="cpu", threads=1)


@pytest.fixture
def program() -> Callable[..., Client]:
    """A program with a new token of that person's."""
    # This file is read before Django is set up.
    from django.test import Client

    from experiments.access.services.tokens import token_create

    def make(owner: User, scope: str = "write") -> Client:
        _, secret = token_create(owner=owner, name="a script", scope=scope)
        return Client(headers={"Authorization": f"Bearer {secret}"}, enforce_csrf_checks=True)

    return make


@pytest.fixture
def mine(client: Client, owner: User) -> Client:
    """The owner's browser."""
    client.force_login(owner)
    return client


@pytest.fixture
def everyone(
    owner: User, stranger: User, viewer: User, admin: User, program: Callable[..., Client]
) -> dict[str, Client]:
    from django.test import Client

    cast = {"viewer": viewer, "stranger": stranger, "owner": owner, "admin": admin}
    clients = {"nobody": Client(), **{name: Client() for name in cast}}
    for name, who in cast.items():
        clients[name].force_login(who)
    programs = {
        "read token": program(owner, "read"),
        "write token": program(owner, "write"),
        "viewer's write token": program(viewer, "write"),
        "stranger's write token": program(stranger, "write"),
        "admin's write token": program(admin, "write"),
        "admin's read token": program(admin, "read"),
    }
    return clients | programs | {"visitor": visitor(owner)}


@pytest.fixture
def signed_on(settings: Any, admin: User) -> dict[str, User]:
    """People of an OpenID Connect provider, with the role that their groups give them, in a lab without passwords."""
    from config.sign_on import SignOn

    from experiments.access.services.sign_on import sign_on_person

    roles = {"students": "viewer", "lab": "member", "heads": "admin"}
    settings.SIGN_ON = SignOn(issuer="http://127.0.0.1:1", client_id="tributary", name="Uni", group_roles=roles)
    settings.PASSWORD_LOGIN = False
    claims = {
        "viewer": {"sub": "1", "preferred_username": "vera", "groups": ["students"]},
        "member": {"sub": "2", "preferred_username": "moritz", "groups": ["students", "lab"]},
        "admin": {"sub": "3", "preferred_username": "hanna", "groups": ["heads"]},
    }
    return {
        role: sign_on_person(sign_on=settings.SIGN_ON, claims=own, address="127.0.0.1") for role, own in claims.items()
    }


def visitor(owner: User) -> Client:
    """Has opened a share link, has no account, and tries the link's secret as a token."""
    from django.test import Client

    from experiments.access.services.share_links import link_create
    from experiments.models import Study

    shared = Study.objects.create(owner=owner, name="Shared and deleted", blocks=[])
    _, secret = link_create(owner=owner, query=f"study={shared.pk}")
    shared.delete()
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    client.get(f"/shared/{secret}")
    return client


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
