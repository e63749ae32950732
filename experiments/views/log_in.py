"""The door: logging in, with a limit to guessing."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from experiments.services.log_in import CLOSED, is_closed, log_in_done, log_in_failed
from experiments.views.people import person


def address_of(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR") or "")


class LogIn(LoginView):
    template_name = "pages/log_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.POST.get("username", "")
        if is_closed(name=name, address=address_of(request)):
            form = self.get_form_class()(request)
            answer = self.render_to_response(self.get_context_data(form=form, closed=CLOSED, name=name))
            answer.status_code = 429
            answer["Retry-After"] = "900"
            return answer
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        log_in_failed(name=self.request.POST.get("username", ""), address=address_of(self.request))
        return super().form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        log_in_done(person=person(self.request), address=address_of(self.request))
        return answer
