"""What a long answer asks again while it is being sent."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from experiments.access.selectors.credentials import Credential, valid_credentials
from experiments.access.services.tokens import token_create
from experiments.models import Token, User


def by_token(owner: User, name: str = "script") -> Credential:
    token, _ = token_create(owner=owner, name=name)
    return Credential(owner.pk, owner.role, token=token.pk)


def by_session(client: Client, owner: User) -> Credential:
    client.force_login(owner)
    session = client.cookies["sessionid"].value
    return Credential(owner.pk, owner.role, session=session, password_mark=owner.get_session_auth_hash())


def test_tokens_and_sessions_count_until_they_end(owner: User, client: Client) -> None:
    token, other, session = by_token(owner), by_token(owner, "other"), by_session(client, owner)
    everything = {token, other, session}
    assert valid_credentials(everything) == everything
    Token.objects.filter(pk=token.token).update(revoked=timezone.now())
    Token.objects.filter(pk=other.token).update(expires=timezone.now() - timedelta(seconds=1))
    assert valid_credentials(everything) == {session}
    client.post("/log-out")
    assert valid_credentials(everything) == set()


def test_a_session_that_expired_or_has_another_password_is_none(owner: User, client: Client) -> None:
    session = by_session(client, owner)
    owner.set_password("another one of mine")
    owner.save()
    assert valid_credentials({session}) == set()
    again = by_session(Client(), owner)
    Session.objects.filter(session_key=again.session).update(expire_date=timezone.now() - timedelta(seconds=1))
    assert valid_credentials({again}) == set()


def test_people_who_are_shut_out_deleted_or_changed_their_role_start_anew(owner: User, stranger: User) -> None:
    one, two = by_token(owner), by_token(stranger)
    User.objects.filter(pk=owner.pk).update(role="viewer")
    assert valid_credentials({one, two}) == {two}
    User.objects.filter(pk=stranger.pk).update(is_active=False)
    assert valid_credentials({one, two}) == set()
    stranger.delete()
    assert valid_credentials({two}) == set()
