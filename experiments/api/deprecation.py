"""Addresses that are about to go: they answer as ever, and every answer says since when, until when and what instead.

`Deprecation` is RFC 9745's (a moment, as seconds), `Sunset` RFC 8594's (a date of HTTP), `Link` names the successor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import wraps
from typing import Any, TypeVar

from django.http.response import HttpResponseBase
from django.utils.http import http_date

Response = TypeVar("Response", bound=HttpResponseBase)
LEAST_NOTICE_DAYS = 365
DOCUMENT = "/docs/api#versions"
DEPRECATIONS: list[Deprecation] = []
"""Every one of them, for docs and tests."""


@dataclass(frozen=True)
class Deprecation:
    address: str
    since: date
    until: date
    successor: str

    def headers(self, **options: Any) -> dict[str, str]:
        """With what the request had in the places of the address."""
        return {
            "Deprecation": f"@{seconds_of(self.since)}",
            "Sunset": http_date(seconds_of(self.until)),
            "Link": f'<{self.successor.format(**options)}>; rel="successor-version", <{DOCUMENT}>; rel="deprecation"',
        }


def seconds_of(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp())


def deprecated(
    address: str, *, since: date, until: date, successor: str
) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """For a view or a route; `until` is the first day on which the address may be gone."""
    if (until - since).days < LEAST_NOTICE_DAYS:
        raise ValueError(f"{address}: an address goes after {LEAST_NOTICE_DAYS} days of notice at the earliest.")
    deprecation = Deprecation(address, since, until, successor)
    DEPRECATIONS.append(deprecation)

    def decorate(view: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(view)
        def answer(*args: Any, **options: Any) -> Response:
            response = view(*args, **options)
            for name, value in deprecation.headers(**options).items():
                response[name] = value
            return response

        return answer

    return decorate
