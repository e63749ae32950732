"""People who log in with the account of an OpenID Connect provider: who they are here, and with which role.

A person is found by the provider's address and its lasting name for them, never by e-mail or user name: those are given
to somebody else one day. Where groups have roles, the groups of this log-in decide, in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from config.sign_on import SignOn
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models.functions import Now

from experiments.access.provider import nested_claim
from experiments.access.services.audit import audit_record
from experiments.access.services.people import save_new_user, user_change, user_problems
from experiments.access.services.throttling import log_in_subject, record_log_in
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import ConflictError, NotAllowedError
from experiments.core.json_values import plain_text
from experiments.models import ProviderAccount, Role, User
from workers.errors import Problem, SpecError

LOG_IN_REFUSED = "log-in.refused"
ROLE_ORDER = (Role.VIEWER, Role.MEMBER, Role.ADMIN)
NAME_CLAIMS = ("preferred_username", "email", "nickname", "sub")
ODD_CHARACTERS = re.compile(r"[^\w.@+-]+")
NAME_LENGTH, EMAIL_LENGTH, SUBJECT_LENGTH = 140, 254, 255


def sign_on_person(*, sign_on: SignOn, claims: Mapping[str, Any], address: str) -> User:
    """The person to log in, with the role of this moment; why not is told to them and noted."""
    try:
        with transaction.atomic():
            lock_in_transaction(Lock.LOG_IN)  # two browsers of a new person make one account
            person = admitted_person(sign_on, claims)
            record_log_in(person=person, address=address, by="sign-on", issuer=sign_on.issuer)
    except (NotAllowedError, ConflictError) as error:
        refuse(sign_on, claims, address, error.detail)
        raise
    return person


def admitted_person(sign_on: SignOn, claims: Mapping[str, Any]) -> User:
    role = role_of_groups(sign_on, groups_of(sign_on, claims))
    account = find_account(sign_on, subject_of(claims))
    if account is None:
        if role is None:
            raise NotAllowedError(no_group_message(sign_on))
        return new_person(sign_on, claims, role)
    if role is None:
        raise NotAllowedError(no_group_message(sign_on))
    if account.groups_lost and not account.person.is_active:
        user_change(account.person, None, "user.enable", is_active=True)
        account.person.refresh_from_db()
    if not account.person.is_active:
        raise NotAllowedError("Your account is disabled here. Ask an admin of your lab.")
    return follow_groups(sign_on, account.person, role)


def follow_groups(sign_on: SignOn, person: User, role: str) -> User:
    """Where no group has a role, those of the page People stay. The only admin stays one: somebody must be."""
    if not sign_on.group_roles or person.role == role:
        return person
    try:
        return user_change(person, None, "user.role", role=role)
    except ConflictError:
        audit_record(actor=None, action="user.role-kept", subject=f"user {person.username}", role=role)
        return person


def refuse(sign_on: SignOn, claims: Mapping[str, Any], address: str, reason: str) -> None:
    """Notes it, and disables whoever has lost every group with a role, so that tokens and other browsers end too."""
    with transaction.atomic():
        subject = subject_of(claims)
        account = find_account(sign_on, subject)
        name = account.person.username if account else suggested_name(claims)
        audit_record(
            actor=account.person if account else None,
            action=LOG_IN_REFUSED,
            subject=log_in_subject(name),
            address=address,
            by="sign-on",
            issuer=sign_on.issuer,
            provider_subject=subject,
            reason=reason,
        )
        if account and account.person.is_active and role_of_groups(sign_on, groups_of(sign_on, claims)) is None:
            take_away(account)


def take_away(account: ProviderAccount) -> None:
    try:
        user_change(account.person, None, "user.disable", is_active=False)
    except ConflictError:
        return  # the only admin: refused at this door, but the account stays for the command line
    ProviderAccount.objects.filter(pk=account.pk).update(groups_lost=Now())


def groups_of(sign_on: SignOn, claims: Mapping[str, Any]) -> list[str]:
    value = nested_claim(claims, sign_on.groups_claim)
    groups = value if isinstance(value, list) else [value] if value else []
    return [str(each) for each in groups]


def role_of_groups(sign_on: SignOn, groups: list[str]) -> str | None:
    """The highest of all; without any, the default; None keeps the person out."""
    given = {sign_on.group_roles[group] for group in groups if group in sign_on.group_roles}
    highest = next((str(role) for role in reversed(ROLE_ORDER) if role in given), None)
    return highest or (sign_on.default_role if sign_on.default_role in Role.values else None)


def find_account(sign_on: SignOn, subject: str) -> ProviderAccount | None:
    accounts = ProviderAccount.objects.select_related("person")
    return accounts.filter(issuer=sign_on.issuer, subject=subject).first()


def subject_of(claims: Mapping[str, Any]) -> str:
    subject = str(claims["sub"])
    if not subject or len(subject) > SUBJECT_LENGTH or subject != plain_text(subject):
        raise NotAllowedError("The provider's name for you is not one that can be kept.")
    return subject


def new_person(sign_on: SignOn, claims: Mapping[str, Any], role: str) -> User:
    """Somebody of this provider may have the name already and gets company; an account of this lab's own is not given
    away to whoever has its name elsewhere."""
    wanted = suggested_name(claims)
    name, number = wanted, 1
    while holder := User.objects.filter(username__iexact=name).first():
        if not holder.provider_accounts.filter(issuer=sign_on.issuer).exists():
            raise ConflictError(
                f"There is an account {holder.username} here already that is not of your sign-on. If it is yours,"
                f" an admin connects the two: manage.py connect {holder.username} {subject_of(claims)}"
            )
        number += 1
        name = f"{wanted}-{number}"
    person = User(username=name, role=role, email=known_email(claims))
    person.set_unusable_password()
    if problems := user_problems(person):
        raise NotAllowedError(f"No account can be made for you: {problems[0].message}")
    save_new_user(person, None, "user.sign-on")
    ProviderAccount.objects.create(person=person, issuer=sign_on.issuer, subject=subject_of(claims))
    return person


def known_email(claims: Mapping[str, Any]) -> str:
    """A label only: one that Django would not take keeps nobody out."""
    email = plain_text(str(claims.get("email") or ""))
    try:
        validate_email(email)
    except ValidationError:
        return ""
    return email if len(email) <= EMAIL_LENGTH else ""


def suggested_name(claims: Mapping[str, Any]) -> str:
    for claim in NAME_CLAIMS:
        name = ODD_CHARACTERS.sub("-", plain_text(str(claims.get(claim) or ""))).strip("-")[:NAME_LENGTH]
        if name:
            return name
    return "person"


def account_connect(*, sign_on: SignOn | None, person: User, subject: str) -> None:
    """From the server's shell: who signs on with that subject is this person from then on."""
    if sign_on is None:
        raise ConflictError("There is no provider to connect with: set TRIBUTARY_OIDC_ISSUER first.")
    if not 0 < len(subject) <= SUBJECT_LENGTH:
        raise SpecError([Problem("subject", f"1 to {SUBJECT_LENGTH} characters.")], "There is no such subject.")
    with transaction.atomic():
        account, made = ProviderAccount.objects.get_or_create(
            issuer=sign_on.issuer, subject=subject, defaults={"person": person}
        )
        if account.person_id != person.pk:
            raise ConflictError(f"That subject is {account.person.username} already.")
        if made:
            audit_record(actor=None, action="user.connect", subject=f"user {person.username}", provider_subject=subject)


def no_group_message(sign_on: SignOn) -> str:
    return f"You have an account with {sign_on.name}, but none of its groups that may use this lab. Ask an admin."
