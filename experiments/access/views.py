"""Logging in, a person's own page, everybody's accounts, and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import LoginView
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from experiments.access.selectors import people_rows, token_rows
from experiments.access.services.people import user_set_active, user_set_role
from experiments.access.services.throttling import LOG_IN_CLOSED, is_log_in_closed, record_failed_log_in, record_log_in
from experiments.access.services.tokens import token_create, token_revoke
from experiments.core.json_values import plain_text
from experiments.models import AuditEntry, Role, Token, User
from experiments.web.requests import current_user, whole_number
from workers.errors import TributaryError


def client_address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "")


class LogIn(LoginView):
    template_name = "pages/log_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.POST.get("username", "")
        if is_log_in_closed(name=name, address=client_address(request)):
            form = self.get_form_class()(request)
            answer = self.render_to_response(self.get_context_data(form=form, closed=LOG_IN_CLOSED, name=name))
            answer.status_code = 429
            answer["Retry-After"] = "900"
            return answer
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        record_failed_log_in(name=self.request.POST.get("username", ""), address=client_address(self.request))
        return super().form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        record_log_in(person=current_user(self.request), address=client_address(self.request))
        return answer


LIFETIMES = {"7": "in 7 days", "30": "in 30 days", "90": "in 90 days", "365": "in a year", "0": "never, until revoked"}
TOKEN_DEFAULTS = {"scope": "read", "days": "90"}


@require_GET
def me(request: HttpRequest) -> HttpResponse:
    return render_me(request)


@never_cache
@require_POST
def token_new(request: HttpRequest) -> HttpResponse:
    """Answers with the page itself, not with a redirect: the secret is kept nowhere that it could be fetched from."""
    form = {name: request.POST.get(name, "") for name in ("name", "scope", "days")}
    try:
        _, secret = token_create(
            owner=current_user(request),
            name=form["name"],
            scope=form["scope"],
            days=whole_number(form["days"], 0) or None,
        )
    except TributaryError as error:
        return render_me(request, status=422, given=form, problem=error)
    return render_me(request, secret=secret)


@require_POST
def token_end(request: HttpRequest, pk: int) -> HttpResponse:
    """Somebody else's token is as good as none."""
    token = get_object_or_404(Token, pk=pk, owner=current_user(request))
    token_revoke(token=token, actor=current_user(request))
    messages.success(request, f"“{token.name}” is revoked: whatever used it is refused from now on.")
    return redirect("me")


def render_me(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    context = {
        "tokens": token_rows(owner=current_user(request)),
        "lifetimes": LIFETIMES.items(),
        "given": TOKEN_DEFAULTS,
        **more,
    }
    return render(request, "pages/me.html", context, status=status)


def change_role(request: HttpRequest, user: User) -> str:
    account = user_set_role(user=user, role=request.POST.get("role", ""), actor=current_user(request))
    return f"{account.username} is {account.get_role_display().partition(':')[0].lower()} from now on."


def shut_out(request: HttpRequest, user: User) -> str:
    user_set_active(user=user, active=False, actor=current_user(request))
    return f"{user.username} is shut out: logged out everywhere, and refused with every token."


def let_in(request: HttpRequest, user: User) -> str:
    user_set_active(user=user, active=True, actor=current_user(request))
    return f"{user.username} may log in again."


ACCOUNT_ACTIONS: dict[str, Callable[[HttpRequest, User], str]] = {
    "role": change_role,
    "shut-out": shut_out,
    "let-in": let_in,
}


@require_GET
def accounts(request: HttpRequest) -> HttpResponse:
    if not current_user(request).is_lab_admin:
        raise PermissionDenied
    return render(request, "pages/people.html", {"rows": people_rows(), "roles": Role.choices})


@require_POST
def account_action(request: HttpRequest, pk: int, action: str) -> HttpResponse:
    if not current_user(request).is_lab_admin:
        raise PermissionDenied
    if action not in ACCOUNT_ACTIONS:
        raise Http404
    try:
        messages.success(request, ACCOUNT_ACTIONS[action](request, get_object_or_404(User, pk=pk)))
    except TributaryError as error:
        messages.error(request, " ".join([error.detail, *(each.message for each in error.errors)]))
    return redirect("people")


AUDIT_PAGE_SIZE = 100


@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    if not current_user(request).is_lab_admin:
        raise PermissionDenied
    entries = AuditEntry.objects.order_by("-pk")
    action = plain_text(request.GET.get("action", ""))
    if action:
        entries = entries.filter(action=action)
    if before := whole_number(request.GET.get("before"), 0):
        entries = entries.filter(pk__lt=before)
    rows = list(entries[: AUDIT_PAGE_SIZE + 1])
    more = rows[AUDIT_PAGE_SIZE - 1].pk if len(rows) > AUDIT_PAGE_SIZE else None
    actions = AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct()
    return render(
        request,
        "pages/audit.html",
        {"entries": rows[:AUDIT_PAGE_SIZE], "more": more, "action": action, "actions": actions},
    )
