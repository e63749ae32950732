"""What cannot be read at all: forms and bodies that are too large or broken, before any page has seen them."""

from __future__ import annotations

from config.bodies import too_large
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import bad_request as broken


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not isinstance(exception, RequestDataTooBig):
        return broken(request, exception)
    told = too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)
    if request.content_type == "application/json":
        return JsonResponse(told, status=413)
    # Without the request: whose it is, is unknown yet.
    return HttpResponse(render_to_string("413.html", told), status=413)
