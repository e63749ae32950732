"""Programs with a token."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from experiments.access.services.tokens import token_create, token_revoke
from experiments.models import Study, Token, User

Program = Callable[..., Client]
JSON = "application/json"


def bearer(secret: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {secret}"})


def test_a_write_token_launches_without_a_csrf_token(owner: User, program: Program, block: dict[str, Any]) -> None:
    answer = program(owner).post("/api/v1/studies", {"name": "By program", "blocks": [block]}, content_type=JSON)
    assert (answer.status_code, answer.json()["owner"]) == (201, "owner")


def test_a_read_token_reads_and_no_more(owner: User, program: Program, block: dict[str, Any]) -> None:
    reader = program(owner, "read")
    assert reader.get("/api/v1/studies").status_code == 200
    refused = reader.post("/api/v1/studies", {"name": "x", "blocks": [block]}, content_type=JSON)
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        "This token may only read. Make one with the scope write on your own page.",
    )
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("query", "status"),
    [("dry_run=true", 200), ("dry_run=1", 403), ("dry_run=true&dry_run=false", 403), ("dry_run=false", 403)],
)
def test_a_read_token_checks_a_grid(
    owner: User, program: Program, block: dict[str, Any], query: str, status: int
) -> None:
    body = {"name": "x", "blocks": [block]}
    assert program(owner, "read").post(f"/api/v1/studies?{query}", body, content_type=JSON).status_code == status
    assert not Study.objects.exists()


def test_a_viewers_write_token_may_no_more_than_a_viewer(viewer: User, program: Program, block: dict[str, Any]) -> None:
    answer = program(viewer).post("/api/v1/studies", {"name": "x", "blocks": [block]}, content_type=JSON)
    assert answer.status_code == 403


def test_a_revoked_token_is_refused(owner: User) -> None:
    token, secret = token_create(owner=owner, name="a script")
    assert bearer(secret).get("/api/v1/workers").status_code == 200
    token_revoke(token=token, actor=owner)
    assert bearer(secret).get("/api/v1/workers").status_code == 401


def test_an_expired_token_is_refused(owner: User) -> None:
    token, secret = token_create(owner=owner, name="a script", days=1)
    assert bearer(secret).get("/api/v1/workers").status_code == 200
    Token.objects.filter(pk=token.pk).update(expires=timezone.now() - timedelta(seconds=1))
    assert bearer(secret).get("/api/v1/workers").status_code == 401


def test_a_token_of_somebody_who_left_is_refused(owner: User) -> None:
    _, secret = token_create(owner=owner, name="a script")
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert bearer(secret).get("/api/v1/workers").status_code == 401


@pytest.mark.parametrize("secret", ["", " ", "trib_", "trib_\u00e9", "x" * 5000, "Bearer"])
def test_a_wrong_token_is_refused_whatever_cookie_comes_with_it(owner: User, secret: str) -> None:
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    client.force_login(owner)
    assert client.get("/api/v1/workers").status_code == 401


def test_a_prefix_or_the_hash_of_a_token_is_not_the_token(owner: User) -> None:
    token, secret = token_create(owner=owner, name="a script")
    for guess in (token.prefix, secret[:-1], token.digest, token.prefix + "x" * (len(secret) - len(token.prefix))):
        assert bearer(guess).get("/api/v1/workers").status_code == 401


def test_another_scheme_leaves_the_session_alone(owner: User) -> None:
    """Such as the password of a proxy in front."""
    client = Client(headers={"Authorization": "Basic bWlyYTp4"})
    assert client.get("/api/v1/workers").status_code == 401
    client.force_login(owner)
    assert client.get("/api/v1/workers").status_code == 200


def test_the_document_opens_with_a_token_and_its_pages_ask_for_a_log_in(client: Client, owner: User) -> None:
    _, secret = token_create(owner=owner, name="a script")
    assert bearer(secret).get("/api/v1/openapi.json").status_code == 200
    assert bearer("trib_wrong").get("/api/v1/openapi.json").status_code == 401
    assert client.get("/api/v1/openapi.json").status_code == 401
    assert client.get("/api/v1/docs").headers["Location"] == "/log-in?next=/api/v1/docs"
