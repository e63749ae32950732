"""Everybody's accounts, for admins: invite, create, change the role, disable, reset a password."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from experiments.access.selectors.people import people_rows
from experiments.access.services.passwords import LINK_DAYS, PasswordLink, password_link_create
from experiments.access.services.people import user_create, user_invite, user_set_active, user_set_role
from experiments.models import Role, User
from experiments.web.requests import current_user
from workers.errors import TributaryError


@dataclass(frozen=True)
class Secret:
    """Shown once: a link with which somebody chooses a password, or the password that was made for them."""

    person: str
    text: str
    is_link: bool


def require_lab_admin(request: HttpRequest) -> None:
    if not current_user(request).is_lab_admin:
        raise PermissionDenied


@require_GET
def accounts(request: HttpRequest) -> HttpResponse:
    require_lab_admin(request)
    return render_people(request)


@never_cache
@require_POST
def account_new(request: HttpRequest) -> HttpResponse:
    """Answers with the page itself, not with a redirect: link and password are kept nowhere."""
    require_lab_admin(request)
    actor, form = current_user(request), {name: request.POST.get(name, "") for name in ("name", "role", "how")}
    try:
        if form["how"] == "password":
            user, password = user_create(name=form["name"].strip(), role=form["role"], actor=actor)
            secret = Secret(user.username, password or "", is_link=False)
        else:
            user, link = user_invite(name=form["name"].strip(), role=form["role"], actor=actor)
            secret = Secret(user.username, link_address(request, link), is_link=True)
    except TributaryError as error:
        return render_people(request, status=422, given=form, problem=error)
    return render_people(request, secret=secret)


def link_address(request: HttpRequest, link: PasswordLink) -> str:
    return request.build_absolute_uri(reverse("choose-password", args=link))


def change_role(request: HttpRequest, user: User) -> str:
    account = user_set_role(user=user, role=request.POST.get("role", ""), actor=current_user(request))
    return f"{account.username} is {account.get_role_display().partition(':')[0].lower()} from now on."


def disable(request: HttpRequest, user: User) -> str:
    user_set_active(user=user, active=False, actor=current_user(request))
    return f"{user.username} is disabled: logged out everywhere, and refused with every token."


def enable(request: HttpRequest, user: User) -> str:
    user_set_active(user=user, active=True, actor=current_user(request))
    return f"{user.username} may log in again."


ACCOUNT_ACTIONS: dict[str, Callable[[HttpRequest, User], str]] = {
    "role": change_role,
    "disable": disable,
    "enable": enable,
}


@require_POST
def account_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    require_lab_admin(request)
    if action not in ACCOUNT_ACTIONS:
        raise Http404
    try:
        messages.success(request, ACCOUNT_ACTIONS[action](request, get_object_or_404(User, pk=pk)))
    except TributaryError as error:
        messages.error(request, " ".join([error.detail, *(each.message for each in error.errors)]))
    return redirect("people")


@never_cache
@require_POST
def account_password_link(request: HttpRequest, pk: int) -> HttpResponse:
    """A one-time link for somebody who forgot their password; the old one works until the link is used."""
    require_lab_admin(request)
    user = get_object_or_404(User, pk=pk)
    try:
        link = password_link_create(user=user, actor=current_user(request))
    except TributaryError as error:
        return render_people(request, status=409, problem=error)
    return render_people(request, secret=Secret(user.username, link_address(request, link), is_link=True))


def render_people(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    context = {"rows": people_rows(), "roles": Role.choices, "link_days": LINK_DAYS, "given": {"role": Role.MEMBER}}
    context["sign_on_groups"] = settings.SIGN_ON and settings.SIGN_ON.group_roles
    return render(request, "pages/people.html", {**context, **more}, status=status)
