"""The one place where errors become HTTP: `{"detail": ..., "errors": [{"path": ..., "message": ...}]}`."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from experiments.core.errors import BusyError, ConflictError, GoneError, NotAllowedError, PendingError
from workers.errors import Problem, SpecError, TributaryError

logger = logging.getLogger(__name__)
STATUS_BY_ERROR: dict[type[TributaryError], int] = {
    SpecError: 422,
    NotAllowedError: 403,
    ConflictError: 409,
    GoneError: 404,
    PendingError: 202,
    BusyError: 429,
}
NOT_LOGGED_IN = "Log in first, or send an API token: Authorization: Bearer trib_..."
NOT_FOUND = "There is no such thing."


def http_status(error: TributaryError) -> int:
    return next((status for kind, status in STATUS_BY_ERROR.items() if isinstance(error, kind)), 400)


def validation_problems(error: ValidationError) -> list[Problem]:
    """Where each problem is in what was sent: without the source and the parameter's own name."""
    return [Problem(problem_path(each["loc"]), f"{each['msg']}.") for each in error.errors]


def problem_path(location: tuple[int | str, ...]) -> str:
    parts = location[2:] if location[0] in ("body", "query") and len(location) > 2 else location[1:]
    return ".".join(str(part) for part in parts)


def error_response(status: int, detail: str, errors: Iterable[Problem] = ()) -> HttpResponse:
    problems = [{"path": each.path, "message": each.message} for each in errors]
    return JsonResponse({"detail": detail, "errors": problems}, status=status)


def add_error_handlers(api: NinjaAPI) -> None:
    @api.exception_handler(TributaryError)
    def answer_refusal(request: HttpRequest, error: TributaryError) -> HttpResponse:
        response = error_response(http_status(error), error.detail, error.errors)
        if isinstance(error, BusyError):
            response["Retry-After"] = str(error.seconds)
        if isinstance(error, PendingError):
            response["Retry-After"] = "2"
        return response

    @api.exception_handler(ValidationError)
    def answer_malformed(request: HttpRequest, error: ValidationError) -> HttpResponse:
        return error_response(422, "The request is not valid.", validation_problems(error))

    @api.exception_handler(AuthenticationError)
    def answer_unknown_person(request: HttpRequest, _: AuthenticationError) -> HttpResponse:
        response = error_response(401, NOT_LOGGED_IN)
        response["WWW-Authenticate"] = 'Bearer realm="Tributary"'
        return response

    @api.exception_handler(RequestDataTooBig)
    def answer_too_large(request: HttpRequest, _: RequestDataTooBig) -> HttpResponse:
        megabytes = (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) / 1e6
        return error_response(413, f"The body is larger than {megabytes:.1f} MB. Launch the grid in several studies.")

    @api.exception_handler(TooManyFieldsSent)
    def answer_too_many(request: HttpRequest, _: TooManyFieldsSent) -> HttpResponse:
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return error_response(422, f"The address has more than {most:,} parameters. Ask for fewer at a time.")

    @api.exception_handler(HttpError)
    def answer_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
        unread = str(error) == "Cannot parse request body"
        return error_response(error.status_code, "The body is not JSON." if unread else str(error))

    @api.exception_handler(Http404)
    def answer_missing(request: HttpRequest, _: Http404) -> HttpResponse:
        return error_response(404, NOT_FOUND)

    @api.exception_handler(Exception)
    def answer_broken(request: HttpRequest, error: Exception) -> HttpResponse:
        logger.exception("%s %s failed", request.method, request.path, exc_info=error)
        return error_response(500, "Something broke on our side. The log has the details.")
