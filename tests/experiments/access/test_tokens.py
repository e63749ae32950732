from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from experiments.access.services import tokens
from experiments.access.services.tokens import token_authenticate, token_create, token_revoke
from experiments.core.errors import ConflictError
from experiments.models import AuditEntry, Token, User
from workers.errors import SpecError


def test_only_the_hash_of_the_secret_is_kept(owner: User) -> None:
    token, secret = token_create(owner=owner, name=" notebook ", scope="write", days=30)
    assert secret.startswith("trib_")
    assert len(secret) == 48
    assert token.digest == hashlib.sha256(secret.encode()).hexdigest()
    assert (token.name, token.scope, token.prefix) == ("notebook", "write", secret[:12])
    assert secret not in str(Token.objects.values().get())
    assert token.expires
    assert timedelta(days=29) < token.expires - timezone.now() <= timedelta(days=30)


def test_two_tokens_are_never_the_same(owner: User) -> None:
    assert token_create(owner=owner, name="a")[1] != token_create(owner=owner, name="a")[1]


def test_every_problem_of_a_token_is_told(owner: User) -> None:
    with pytest.raises(SpecError) as caught:
        token_create(owner=owner, name="  ", scope="admin", days=0)
    assert [each.path for each in caught.value.errors] == ["days", "name", "scope"]


def test_nobody_keeps_more_tokens_than_they_can_know(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_TOKENS", 2)
    first, _ = token_create(owner=owner, name="a")
    token_create(owner=owner, name="b")
    with pytest.raises(ConflictError, match="revoke one"):
        token_create(owner=owner, name="c")
    token_revoke(token=first, actor=owner)
    token_create(owner=owner, name="c")


def test_its_last_use_is_noted_once_a_minute(owner: User) -> None:
    token, secret = token_create(owner=owner, name="a")
    assert token_authenticate(secret) == token
    token.refresh_from_db()
    used = token.used
    assert used
    token_authenticate(secret)
    token.refresh_from_db()
    assert token.used == used
    Token.objects.update(used=used - timedelta(seconds=61))
    token_authenticate(secret)
    token.refresh_from_db()
    assert token.used
    assert token.used >= used


def test_a_token_is_revoked_once(owner: User, admin: User) -> None:
    token, secret = token_create(owner=owner, name="a")
    first = token_revoke(token=token, actor=owner).revoked
    assert token_revoke(token=token, actor=admin).revoked == first
    assert token_authenticate(secret) is None
    deeds = AuditEntry.objects.order_by("id").values_list("actor_name", "action", "subject", "detail")
    assert list(deeds) == [
        ("owner", "token.create", f"token {token.pk}", {"owner": "owner", "scope": "read"}),
        ("owner", "token.revoke", f"token {token.pk}", {"owner": "owner"}),
    ]
