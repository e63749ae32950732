"""A person's own page: their API tokens, and what their runs used."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from experiments.access.selectors.people import token_rows, usage_of
from experiments.access.services.tokens import token_create, token_revoke
from experiments.models import Token
from experiments.web.requests import current_user, whole_number
from workers.errors import TributaryError

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
    person = current_user(request)
    context = {
        "tokens": token_rows(owner=person),
        "usage": usage_of(person),
        "lifetimes": LIFETIMES.items(),
        "given": TOKEN_DEFAULTS,
        **more,
    }
    return render(request, "pages/me.html", context, status=status)
