"""The one place where errors become HTTP: `{"detail": ..., "errors": [{"path": ..., "message": ...}]}`."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from experiments.services.errors import ConflictError, NotAllowedError
from workers.errors import Problem, SpecError, TributaryError

logger = logging.getLogger(__name__)
STATUS: dict[type[TributaryError], int] = {SpecError: 422, NotAllowedError: 403, ConflictError: 409}


def status_of(error: TributaryError) -> int:
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)


def problems_in(error: ValidationError) -> list[Problem]:
    """Where each problem is in what was sent: without the source and the parameter's own name."""
    return [Problem(path_of(each["loc"]), f"{each['msg']}.") for each in error.errors]


def path_of(location: tuple[int | str, ...]) -> str:
    parts = location[2:] if location[0] == "body" else location[1:]
    return ".".join(str(part) for part in parts)


def add_error_handlers(api: NinjaAPI) -> None:
    def answer(request: HttpRequest, status: int, detail: str, errors: Iterable[Problem] = ()) -> HttpResponse:
        listed = [{"path": each.path, "message": each.message} for each in errors]
        return api.create_response(request, {"detail": detail, "errors": listed}, status=status)

    @api.exception_handler(TributaryError)
    def refused(request: HttpRequest, error: TributaryError) -> HttpResponse:
        return answer(request, status_of(error), error.detail, error.errors)

    @api.exception_handler(ValidationError)
    def malformed(request: HttpRequest, error: ValidationError) -> HttpResponse:
        return answer(request, 422, "The request is not valid.", problems_in(error))

    @api.exception_handler(AuthenticationError)
    def unknown_person(request: HttpRequest, _: AuthenticationError) -> HttpResponse:
        return answer(request, 401, "Log in first.")

    @api.exception_handler(HttpError)
    def other(request: HttpRequest, error: HttpError) -> HttpResponse:
        return answer(request, error.status_code, str(error))

    @api.exception_handler(Http404)
    def missing(request: HttpRequest, _: Http404) -> HttpResponse:
        return answer(request, 404, "There is no such thing.")

    @api.exception_handler(Exception)
    def broken(request: HttpRequest, error: Exception) -> HttpResponse:
        logger.exception("%s %s failed", request.method, request.path, exc_info=error)
        return answer(request, 500, "Something broke on our side. The log has the details.")
