"""Tributary's own kind of API: reads carry an ETag, and the OpenAPI document tells more than the types do."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from ninja import NinjaAPI
from ninja.operation import Operation

from experiments.api.openapi import explained


class LabAPI(NinjaAPI):
    def create_response(self, request: HttpRequest, data: Any, **options: Any) -> HttpResponse:
        response = super().create_response(request, data, **options)
        return conditional(request, response) if request.method == "GET" else response

    def get_openapi_schema(self, **options: Any) -> Any:
        return explained(super().get_openapi_schema(**options))

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Generated clients call their functions so: `studies_launch`, `runs_metrics`."""
        return f"{operation.view_func.__module__.rpartition('.')[2]}_{operation.view_func.__name__}"


def conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Whoever has this answer already (`If-None-Match`) gets 304 and no body."""
    etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Authorization", "Cookie"])
    return get_conditional_response(request, etag=etag, response=response) or response
