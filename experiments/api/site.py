"""Tributary's own kind of API: ETags, pages of the OpenAPI document, and how Django reaches the routes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import AuthenticationError
from ninja.operation import Operation

from experiments.api.auth import BearerToken
from experiments.api.errors import NOT_FOUND, NOT_LOGGED_IN, error_response
from experiments.api.openapi import explain_document
from experiments.web.requests import current_user

OPERATION_PREFIX = {
    "access": "audit",
    "catalog": "lab",
    "client_data": "data",
    "compare": "comparisons",
    "datasets": "data",
    "flower_apps": "apps",
    "queue": "lab",
    "results": "runs",
}
"""Where generated clients know a feature's routes by another name than its folder's."""


class LabAPI(NinjaAPI):
    def create_response(self, request: HttpRequest, data: Any, **options: Any) -> HttpResponse:
        response = super().create_response(request, data, **options)
        return add_etag(request, response) if request.method == "GET" else response

    def get_openapi_schema(self, **options: Any) -> Any:
        return explain_document(super().get_openapi_schema(**options))

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Generated clients call their functions so: `studies_launch`, `runs_metrics`."""
        if operation.operation_id:
            return operation.operation_id
        feature = operation.view_func.__module__.split(".")[1]
        return f"{OPERATION_PREFIX.get(feature, feature)}_{operation.view_func.__name__}"


def add_etag(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Whoever has this answer already (`If-None-Match`) gets 304 and no body."""
    etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Authorization", "Cookie"])
    return get_conditional_response(request, etag=etag, response=response) or response


PageView = Callable[..., HttpResponse]


def require_reader(view: PageView) -> PageView:
    @wraps(view)
    def guarded_view(request: HttpRequest, **options: Any) -> HttpResponse:
        if may_read(request):
            return view(request, **options)
        if request.path.endswith(".json"):
            return error_response(401, NOT_LOGGED_IN)
        return redirect_to_login(request.get_full_path())

    return guarded_view


def may_read(request: HttpRequest) -> bool:
    try:
        return current_user(request).is_authenticated or BearerToken()(request) is not None
    except AuthenticationError:
        return False


View = Callable[..., Any]


def route_view(view: View) -> View:
    """401 instead of a redirect to the log-in page, and words for a method that is not there."""

    @wraps(view)
    def answer(request: HttpRequest, **options: Any) -> HttpResponseBase:
        return explain_not_allowed(view(request, **options))

    @wraps(view)
    async def later(request: HttpRequest, **options: Any) -> HttpResponseBase:
        return explain_not_allowed(await view(request, **options))

    return login_not_required(later if iscoroutinefunction(view) else answer)


def explain_not_allowed(response: HttpResponseBase) -> HttpResponseBase:
    if not isinstance(response, HttpResponseNotAllowed):
        return response
    allowed = ", ".join(sorted(response["Allow"].split(", ")))
    explanation = error_response(405, f"This address takes {allowed}.")
    explanation["Allow"] = allowed
    return explanation


@csrf_exempt
@login_not_required
def unknown_address(request: HttpRequest, rest: str) -> HttpResponse:
    return error_response(404, NOT_FOUND)
