"""Whoever asks REST: browsers of the cast, and programs with the owner's tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.test import Client

    from experiments.models import User


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


def visitor(owner: User) -> Client:
    """Has opened a share link, has no account, and tries the link's secret as a token."""
    from django.test import Client

    from experiments.access.services.share_links import link_create

    _, secret = link_create(owner=owner, query="study=1")
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    client.get(f"/shared/{secret}")
    return client
