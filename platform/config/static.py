"""Static files as whole, compressed answers, at addresses that name their version.

WhiteNoise streams files; under ASGI Django reads such a stream into memory first, and warns. Plotly's script alone is
4.8 MB, 1.4 MB compressed: it is compressed once per process, so that no step of collecting files is needed.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

SMALLEST_COMPRESSED = 1_000
COMPRESSIBLE = ("text/", "application/json", "image/svg+xml")


PACKAGES = ("django-htmx", "django-ninja")
"""Whose files are served, too."""


def static_version(folder: Path) -> str:
    """A part of every address, so that a page never gets scripts of a version before or after its own.

    One for all files and not one for each: modules import each other by relative paths.
    """
    digest = hashlib.sha256("".join(version(name) for name in PACKAGES).encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class StaticMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # the package has no types
    def immutable_file_test(self, path: str, url: str) -> bool:
        """While somebody edits them they change under their address."""
        return not settings.DEBUG

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        streamed = WhiteNoiseMiddleware.serve(static_file, request)
        content = b"".join(streamed.streaming_content) if streamed.streaming else streamed.content
        streamed.close()
        response = HttpResponse(content, status=streamed.status_code, headers=dict(streamed.headers))
        return compress_response(response) if may_compress(request, response) else response


def may_compress(request: HttpRequest, response: HttpResponse) -> bool:
    kind = response.headers.get("Content-Type", "")
    accepted = "gzip" in request.headers.get("Accept-Encoding", "")
    return (
        accepted
        and response.status_code == 200
        and len(response.content) > SMALLEST_COMPRESSED
        and kind.startswith(COMPRESSIBLE)
    )


def compress_response(response: HttpResponse) -> HttpResponse:
    response.content = gzip_content(response.content)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Length"] = str(len(response.content))
    response.headers["Vary"] = "Accept-Encoding"
    return response


@lru_cache(maxsize=64)
def gzip_content(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
