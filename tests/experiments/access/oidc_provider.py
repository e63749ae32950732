"""The OpenID Connect provider of the tests: oidc-provider-mock over HTTP, and what a browser does with it."""

from __future__ import annotations

import base64
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

import httpx
from werkzeug.serving import make_server
from werkzeug.test import run_wsgi_app

with warnings.catch_warnings():  # it uses names that Authlib is about to drop
    warnings.simplefilter("ignore")
    import oidc_provider_mock


@dataclass
class Provider:
    issuer: str = ""
    wrong_issuer: str = ""
    """What it says of itself instead of its address."""
    token_requests: list[dict[str, str]] = field(default_factory=list)
    forge: Callable[[dict[str, Any]], str] | None = None
    """Makes another ID token of the claims of the true one."""
    keys: list[dict[str, Any]] = field(default_factory=list)
    """Public ones that it publishes instead of its own."""

    def set_person(self, subject: str, claims: dict[str, Any]) -> None:
        httpx.put(f"{self.issuer}/users/{subject}", json=claims).raise_for_status()

    def log_in(self, address: str, subject: str) -> str:
        """Where the provider sends the browser of whoever logs in there."""
        return self.submit(address, {"sub": subject})

    def deny(self, address: str) -> str:
        return self.submit(address, {"action": "deny"})

    def submit(self, address: str, form: dict[str, str]) -> str:
        answer = httpx.post(address, data=form)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"].removeprefix("http://testserver")

    def application(self, inner: Any) -> Any:
        """Notes what codes are redeemed with: the provider itself does not check PKCE."""

        def answer(environ: dict[str, Any], start_response: Any) -> Any:
            if environ["PATH_INFO"] == "/oauth2/token":
                body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
                environ["wsgi.input"] = BytesIO(body)
                self.token_requests.append(dict(parse_qsl(body.decode())))
                if self.forge:
                    return self.forged_answer(inner, environ, start_response)
            if self.keys and environ["PATH_INFO"] == "/jwks":
                start_response("200 OK", [("Content-Type", "application/json")])
                return [json.dumps({"keys": self.keys}).encode()]
            if self.wrong_issuer and environ["PATH_INFO"] == "/.well-known/openid-configuration":
                start_response("200 OK", [("Content-Type", "application/json")])
                return [b'{"issuer": "%s"}' % self.wrong_issuer.encode()]
            return inner(environ, start_response)

        return answer

    def forged_answer(self, inner: Any, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        assert self.forge
        parts, status, _ = run_wsgi_app(inner, environ)
        token = json.loads(b"".join(parts))
        claims = token["id_token"].split(".")[1]
        token["id_token"] = self.forge(json.loads(base64.urlsafe_b64decode(claims + "==")))
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(token).encode()]


@contextmanager
def run_provider() -> Iterator[Provider]:
    provider = Provider()
    server = make_server("127.0.0.1", 0, provider.application(oidc_provider_mock.app()), threaded=True)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
