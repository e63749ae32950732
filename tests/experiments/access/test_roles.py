"""Who may change what people may do, and what that leaves in the audit log."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.access.services.people import user_set_active, user_set_role
from experiments.access.services.tokens import token_authenticate, token_create
from experiments.core.errors import ConflictError, NotAllowedError
from experiments.models import AuditEntry, User
from workers.errors import SpecError


def entries() -> list[tuple[str, str, str, dict[str, str]]]:
    return list(AuditEntry.objects.order_by("pk").values_list("actor_name", "action", "subject", "detail"))


def test_an_admin_changes_a_role_and_leaves_an_entry(owner: User, admin: User) -> None:
    assert user_set_role(user=owner, role="viewer", actor=admin).role == "viewer"
    owner.refresh_from_db()
    assert not owner.may_launch
    assert entries() == [("boss", "user.role", "user owner", {"before": "member", "role": "viewer"})]


def test_the_same_role_again_is_no_deed(owner: User, admin: User) -> None:
    user_set_role(user=owner, role="member", actor=admin)
    assert entries() == []


@pytest.mark.parametrize("role", ["member", "viewer"])
def test_nobody_else_changes_roles_not_even_their_own(role: str, owner: User) -> None:
    owner.role = role
    owner.save()
    with pytest.raises(NotAllowedError):
        user_set_role(user=owner, role="admin", actor=owner)
    with pytest.raises(NotAllowedError):
        user_set_active(user=owner, active=False, actor=owner)
    assert entries() == []


def test_a_role_that_does_not_exist_is_refused(owner: User, admin: User) -> None:
    with pytest.raises(SpecError, match="no such role"):
        user_set_role(user=owner, role="god", actor=admin)


def test_the_last_admin_stays(owner: User, admin: User) -> None:
    with pytest.raises(ConflictError, match="boss is the only admin"):
        user_set_role(user=admin, role="member", actor=admin)
    with pytest.raises(ConflictError, match="boss is the only admin"):
        user_set_active(user=admin, active=False, actor=admin)
    second = user_set_role(user=owner, role="admin", actor=admin)
    user_set_role(user=admin, role="member", actor=second)
    assert list(User.objects.filter(role="admin")) == [owner]


def test_whoever_is_disabled_is_logged_out_and_refused_with_tokens(owner: User, admin: User) -> None:
    browser = Client()
    browser.force_login(owner)
    _, secret = token_create(owner=owner, name="Script")
    user_set_active(user=owner, active=False, actor=admin)
    assert browser.get("/me").status_code == 302
    assert token_authenticate(secret) is None
    user_set_active(user=owner, active=True, actor=admin)
    assert token_authenticate(secret) is not None
    assert [action for _, action, *_ in entries()] == ["token.create", "user.disable", "user.enable"]
