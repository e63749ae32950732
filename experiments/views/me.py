"""A person's own page: who they are here, and their API tokens. A token's secret is shown once, when it is made."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from experiments.models import Token
from experiments.selectors.tokens import token_rows
from experiments.services.tokens import token_create, token_revoke
from experiments.views.parts import whole_number
from experiments.views.people import person
from workers.errors import TributaryError

LIFETIMES = {"7": "in 7 days", "30": "in 30 days", "90": "in 90 days", "365": "in a year", "0": "never, until revoked"}
FIRST = {"scope": "read", "days": "90"}


@require_GET
def me(request: HttpRequest) -> HttpResponse:
    return page(request)


@never_cache
@require_POST
def token_new(request: HttpRequest) -> HttpResponse:
    """Answers with the page itself, not with a redirect: the secret is kept nowhere that it could be fetched from."""
    given = {name: request.POST.get(name, "") for name in ("name", "scope", "days")}
    try:
        _, secret = token_create(
            owner=person(request), name=given["name"], scope=given["scope"], days=whole_number(given["days"], 0) or None
        )
    except TributaryError as error:
        return page(request, status=422, given=given, problem=error)
    return page(request, secret=secret)


@require_POST
def token_end(request: HttpRequest, pk: int) -> HttpResponse:
    """Somebody else's token is as good as none."""
    token = get_object_or_404(Token, pk=pk, owner=person(request))
    token_revoke(token=token, actor=person(request))
    messages.success(request, f"“{token.name}” is revoked: whatever used it is refused from now on.")
    return redirect("me")


def page(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    context = {"tokens": token_rows(owner=person(request)), "lifetimes": LIFETIMES.items(), "given": FIRST, **more}
    return render(request, "pages/me.html", context, status=status)
