"""Logging in with the account of an OpenID Connect provider: the way there, and the way back."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from experiments.access.provider import claims_of_return, lab_sign_on, redirect_to_provider
from experiments.access.services.sign_on import sign_on_person
from experiments.access.views.log_in import client_address
from experiments.web.refusals import UNSENT, read_signed_form
from workers.errors import TributaryError

NEXT, MOST_NEXT = "sign-on-next", 4_000
SESSION_AGE = timedelta(hours=12)
"""After which the provider is asked again who the person is, and in which groups."""


@login_not_required
@never_cache
@require_GET
def sign_on_begin(request: HttpRequest) -> HttpResponse:
    lab_sign_on()
    if request.user.is_authenticated:
        return redirect(settings.LOGIN_REDIRECT_URL)
    request.session[NEXT] = request.GET.get("next", "")[:MOST_NEXT]
    try:
        answer = redirect_to_provider(request, return_address=request.build_absolute_uri(reverse("sign-on-return")))
    except TributaryError as error:
        return refused_page(request, error, 502)
    return answer


@login_not_required
@never_cache
@require_GET
def sign_on_return(request: HttpRequest) -> HttpResponse:
    sign_on = lab_sign_on()
    try:
        claims = claims_of_return(request)
    except TributaryError as error:
        return refused_page(request, error, 400)
    try:
        person = sign_on_person(sign_on=sign_on, claims=claims, address=client_address(request))
    except TributaryError as error:
        return refused_page(request, error, 403)
    target, unsent = request.session.pop(NEXT, ""), read_signed_form(request.session.pop(UNSENT, ""))
    login(request, person)
    request.session.set_expiry(SESSION_AGE)
    if unsent:
        return render(request, "pages/send_again.html", {"unsent": unsent})
    ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return redirect(target if target and ours else settings.LOGIN_REDIRECT_URL)


def refused_page(request: HttpRequest, error: TributaryError, status: int) -> HttpResponse:
    """The next try leads to where this one was to, and a form that waits is sent then."""
    context = {"problem": error, "name": lab_sign_on().name, "next": request.session.get(NEXT, "")}
    return render(request, "pages/sign_on_refused.html", context, status=status)
