"""Logging in, and passwords: chosen with a one-time link, or changed by whoever knows the old one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import LoginView, PasswordChangeView, PasswordResetConfirmView
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse, reverse_lazy

from experiments.access.services.passwords import record_new_password
from experiments.access.services.throttling import (
    DEVICE_DAYS,
    LOG_IN_CLOSED,
    device_secret,
    known_device,
    log_in_begin,
    log_in_succeed,
    record_log_in,
)
from experiments.models import AuditEntry, User
from experiments.web.refusals import UNSENT, read_signed_form
from experiments.web.requests import current_user

DEVICE_COOKIE = "device"


def client_address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "")


def log_in_ways(request: HttpRequest) -> dict[str, Any]:
    """For every page: whether people log in with passwords, and what the provider is called, if there is one."""
    return {"password_login": settings.PASSWORD_LOGIN, "sign_on": settings.SIGN_ON and settings.SIGN_ON.name}


class LogIn(LoginView):
    template_name = "pages/log_in.html"
    redirect_authenticated_user = True
    attempt: AuditEntry

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.PASSWORD_LOGIN:
            return self.render_to_response(self.get_context_data(form=self.get_form_class()(request)), status=403)
        name = request.POST.get("username", "")
        device = known_device(request.COOKIES.get(DEVICE_COOKIE, ""), name)
        attempt = log_in_begin(name=name, address=client_address(request), device=device)
        if attempt is None:
            form = self.get_form_class()(request)
            answer = self.render_to_response(self.get_context_data(form=form, closed=LOG_IN_CLOSED, name=name))
            answer.status_code = 429
            answer["Retry-After"] = "900"
            return answer
        self.attempt = attempt
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        log_in_succeed(attempt=self.attempt, person=current_user(self.request))
        self.request.session.pop(UNSENT, "")
        if unsent := read_signed_form(self.request.POST.get("unsent", "")):
            answer = render(self.request, "pages/send_again.html", {"unsent": unsent})
        answer.set_cookie(
            DEVICE_COOKIE,
            device_secret(current_user(self.request)),
            max_age=timedelta(days=DEVICE_DAYS),
            path=reverse("login"),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """A form that waits for the log-in outlives wrong passwords."""
        return {**super().get_context_data(**kwargs), "unsent": self.request.POST.get("unsent", "")}


class ChoosePassword(PasswordResetConfirmView):
    """Where a one-time link leads: of an invitation, or of a forgotten password. Whoever has chosen is logged in.

    Where log-in by password is off, it is the way in for admins that `manage.py passwordlink` opens.
    """

    template_name = "pages/choose_password.html"
    post_reset_login = True
    success_url = reverse_lazy("studies")

    def get_user(self, uidb64: str) -> User | None:
        user: User | None = super().get_user(uidb64)
        return user if user and user.is_active and (settings.PASSWORD_LOGIN or user.is_lab_admin) else None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "person": self.user}

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        person = current_user(self.request)
        record_new_password(user=person)
        record_log_in(person=person, address=client_address(self.request))
        messages.success(self.request, f"Your password is set. Welcome, {person.username}.")
        return answer


class ChangePassword(PasswordChangeView):
    template_name = "pages/change_password.html"
    success_url = reverse_lazy("me")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.PASSWORD_LOGIN:
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        record_new_password(user=current_user(self.request))
        messages.success(self.request, "Your password is changed. Other browsers that were logged in are logged out.")
        return answer
