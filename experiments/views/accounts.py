"""Everybody who has an account, for admins: what they may do here, and whether they may enter."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from experiments.models import Role, User
from experiments.selectors.people import people_rows
from experiments.services.people import user_set_active, user_set_role
from experiments.views.people import person
from workers.errors import TributaryError


def change_role(request: HttpRequest, user: User) -> str:
    changed = user_set_role(user=user, role=request.POST.get("role", ""), actor=person(request))
    return f"{changed.username} is {changed.get_role_display().partition(':')[0].lower()} from now on."


def shut_out(request: HttpRequest, user: User) -> str:
    user_set_active(user=user, active=False, actor=person(request))
    return f"{user.username} is shut out: logged out everywhere, and refused with every token."


def let_in(request: HttpRequest, user: User) -> str:
    user_set_active(user=user, active=True, actor=person(request))
    return f"{user.username} may log in again."


ACTIONS: dict[str, Callable[[HttpRequest, User], str]] = {
    "role": change_role,
    "shut-out": shut_out,
    "let-in": let_in,
}


@require_GET
def accounts(request: HttpRequest) -> HttpResponse:
    if not person(request).is_lab_admin:
        raise PermissionDenied
    return render(request, "pages/people.html", {"rows": people_rows(), "roles": Role.choices})


@require_POST
def account_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    if not person(request).is_lab_admin:
        raise PermissionDenied
    if action not in ACTIONS:
        raise Http404
    try:
        messages.success(request, ACTIONS[action](request, get_object_or_404(User, pk=pk)))
    except TributaryError as error:
        messages.error(request, " ".join([error.detail, *(each.message for each in error.errors)]))
    return redirect("people")
