"""What a browser gets that is logged out or asks in a way that is not answered: words, and nothing typed is lost.

A form that was sent after the session had ended goes back to the browser inside the log-in page, signed, so that it can
be sent again after logging in. The server keeps nothing of it, but in the session where a lab logs in with a provider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.core import signing
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin

LOGGED_OUT = "You are logged out: log in."
SCRIPT_HEADER = "X-Requested-With"
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
SALT = "tributary.unsent-form"
MOST_CHARACTERS, MOST_IN_SESSION = 1_000_000, 64_000
KEEP_SECONDS = 86_400
UNSENT = "unsent-form"


@dataclass(frozen=True)
class UnsentForm:
    """A form that nobody acted on: where it goes, its fields, and the page it was on."""

    path: str
    fields: list[tuple[str, str]]
    page: str
    files: bool

    @property
    def visible_fields(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self.fields if value and name != "next"]


class LogInMiddleware(LoginRequiredMiddleware):
    """Pages lead to the log-in; scripts, which cannot show it, are told; forms are kept."""

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponse:  # type: ignore[override]
        if "HX-Request" in request.headers or SCRIPT_HEADER in request.headers:
            return JsonResponse({"detail": LOGGED_OUT, "errors": []}, status=401)
        if request.method != "POST":
            return super().handle_no_permission(request, view_func)
        if request.content_type not in FORM_TYPES or request.path == reverse("logout"):
            return redirect_to_login(page_of(request))
        unsent = sign_form(request)
        context = {"form": AuthenticationForm(request), "unsent": unsent, "next": page_of(request)}
        # The way through a provider takes nothing along. Strangers may fill no table with this.
        if settings.SIGN_ON and 0 < len(unsent) <= MOST_IN_SESSION:
            request.session[UNSENT] = unsent
        return render(request, "pages/log_in.html", context, status=401)


def page_of(request: HttpRequest) -> str:
    """The page that the browser came from, where it is one of ours."""
    source = urlsplit(request.headers.get("Referer", ""))
    return source.path if source.netloc == request.get_host() else resolve_url(settings.LOGIN_REDIRECT_URL)


def sign_form(request: HttpRequest) -> str:
    """Without passwords and files; empty where it is too long to go back and forth."""
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name != "csrfmiddlewaretoken" and "password" not in name
    ]
    if sum(len(name) + len(value) for name, value in fields) > MOST_CHARACTERS:
        return ""
    form = {"path": request.get_full_path(), "fields": fields, "page": page_of(request), "files": bool(request.FILES)}
    return signing.dumps(form, salt=SALT, compress=True)


def read_signed_form(text: str) -> UnsentForm | None:
    try:
        form = signing.loads(text, salt=SALT, max_age=KEEP_SECONDS)
    except signing.BadSignature:
        return None
    return UnsentForm(form["path"], [(name, value) for name, value in form["fields"]], form["page"], form["files"])


class RefusedMethodMiddleware(MiddlewareMixin):
    """Somebody who follows a link to a button's address, or reloads after it, gets a page and not a blank one."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        blank = isinstance(response, HttpResponse) and not response.content
        if response.status_code != 405 or not blank or "text/html" not in request.headers.get("Accept", ""):
            return response
        page = render(request, "405.html", status=405)
        page.headers["Allow"] = response.headers.get("Allow", "")
        return page
