"""A person's own page, their tokens, and the audit log."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from experiments.access.services.tokens import token_create
from experiments.models import AuditEntry, Token, User


def secret_on(page: str) -> str | None:
    match = re.search(r'<code id="secret">(.+?)</code>', page)
    return match[1] if match else None


def test_a_token_is_made_and_its_secret_shown_once(browsers: dict[str, Client], owner: User) -> None:
    form = {"name": "notebook", "scope": "write", "days": "30"}
    answer = browsers["owner"].post("/me/tokens", form)
    secret = secret_on(answer.content.decode())
    assert secret
    assert "no-store" in answer.headers["Cache-Control"]
    token = Token.objects.get()
    assert (token.owner, token.name, token.scope, token.prefix) == (owner, "notebook", "write", secret[:12])
    page = browsers["owner"].get("/me").content.decode()
    assert secret not in page
    assert f"{token.prefix}…" in page
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    assert program.get("/api/v1/workers").status_code == 200


def test_a_token_without_end_ends_when_revoked(browsers: dict[str, Client]) -> None:
    browsers["owner"].post("/me/tokens", {"name": "notebook", "scope": "read", "days": "0"})
    token = Token.objects.get()
    assert token.expires is None
    browsers["owner"].post(f"/me/tokens/{token.pk}/revoke")
    token.refresh_from_db()
    assert token.revoked
    assert "revoked" in browsers["owner"].get("/me").content.decode()


def test_what_was_typed_stays_where_it_is_refused(browsers: dict[str, Client]) -> None:
    answer = browsers["owner"].post("/me/tokens", {"name": " ", "scope": "everything", "days": "7"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "A token needs a name: say what will use it." in page
    assert '<option value="7" selected>' in page
    assert not Token.objects.exists()


@pytest.mark.parametrize("who", ["stranger", "admin", "viewer"])
def test_nobody_elses_token_is_seen_or_revoked(browsers: dict[str, Client], owner: User, who: str) -> None:
    token, _ = token_create(owner=owner, name="zeppelin")
    assert "zeppelin" not in browsers[who].get("/me").content.decode()
    assert browsers[who].post(f"/me/tokens/{token.pk}/revoke").status_code == 404
    token.refresh_from_db()
    assert token.revoked is None


def test_names_of_tokens_are_text_not_markup(browsers: dict[str, Client], owner: User) -> None:
    token_create(owner=owner, name="<script>alert(1)</script>")
    assert "<script>alert" not in browsers["owner"].get("/me").content.decode()


@pytest.mark.parametrize("address", ["/me", "/audit"])
def test_strangers_are_sent_to_the_log_in_page(browsers: dict[str, Client], address: str) -> None:
    answer = browsers["nobody"].get(address)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/log-in?next={address}")


def test_the_audit_log_is_for_admins(browsers: dict[str, Client], owner: User) -> None:
    token_create(owner=owner, name="notebook")
    for who in ("owner", "viewer"):
        assert browsers[who].get("/audit").status_code == 403
    page = browsers["admin"].get("/audit").content.decode()
    assert "token.create" in page
    assert "owner: owner · scope: read" in page
    assert "Nothing like that" in browsers["admin"].get("/audit?action=study.launch").content.decode()


def test_the_audit_log_comes_a_page_at_a_time(browsers: dict[str, Client]) -> None:
    AuditEntry.objects.bulk_create(
        AuditEntry(actor_name="mira", action="run.cancel", subject=f"run {number}") for number in range(1, 102)
    )
    first = browsers["admin"].get("/audit").content.decode()
    assert "run 101<" in first
    assert "run 1<" not in first
    before = re.search(r"\?before=(\d+)", first)
    assert before
    rest = browsers["admin"].get(f"/audit?before={before[1]}").content.decode()
    assert "run 1<" in rest
    assert "run 2<" not in rest
