"""Speaking with a lab: where it is, who asks, and what its refusals say."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ADDRESS, TOKEN = "TRIBUTARY_URL", "TRIBUTARY_TOKEN"
LOGIN_FILE = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "tributary" / "login.json"
NO_LOGIN = (
    "Which lab? Run `tributary login ADDRESS`, or set TRIBUTARY_URL and TRIBUTARY_TOKEN. "
    "A token comes from the page Me, or from `manage.py token USER --scope write`."
)
BUSY = (429, 502, 503, 504)
TRIES, LONGEST_PAUSE = 5, 30.0


class LabError(Exception):
    """What the lab refused. `errors` has the path and the message of each problem."""

    def __init__(self, status: int, detail: str, errors: list[dict[str, str]] | None = None) -> None:
        self.status, self.detail, self.errors = status, detail, errors or []
        lines = [f"{each.get('path') or 'request'}: {each.get('message')}" for each in self.errors]
        super().__init__("\n  ".join([detail, *lines]))


class AwayError(LabError):
    """Nobody answers at the lab's address."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(0, f"The lab at {address} does not answer: {reason}")


@dataclass(frozen=True)
class Login:
    address: str
    token: str


def find_login(address: str | None = None, token: str | None = None) -> Login:
    """As given, from the environment, or as `tributary login` wrote it down."""
    stored: dict[str, str] = json.loads(LOGIN_FILE.read_text()) if LOGIN_FILE.exists() else {}
    address = address or os.environ.get(ADDRESS) or stored.get("address")
    token = token or os.environ.get(TOKEN) or stored.get("token")
    if not address or not token:
        raise LabError(0, NO_LOGIN)
    return Login(address.rstrip("/"), token)


def store_login(login: Login) -> Path:
    """Readable by its owner only, from its first byte on."""
    LOGIN_FILE.parent.mkdir(parents=True, exist_ok=True)
    part = LOGIN_FILE.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({"address": login.address, "token": login.token}, file)
    part.replace(LOGIN_FILE)
    return LOGIN_FILE


class Connection:
    """Requests to one lab. A lab that is busy is asked again; one that is away raises `AwayError`."""

    def __init__(self, login: Login, timeout: float = 30.0) -> None:
        self.login = login
        self.http = httpx.Client(
            base_url=f"{login.address}/api/v1",
            headers={"Authorization": f"Bearer {login.token}"},
            timeout=timeout,
        )

    def get(self, path: str, **query: Any) -> Any:
        return self.request("GET", path, query=query)

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        return self.request("POST", path, body=body, query=query)

    def pages(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Every item of a list, page after page."""
        answer = self.get(path, **query)
        while True:
            yield from answer["items"]
            if not answer["next"]:
                return
            answer = self.get(path, **{**query, "cursor": answer["next"]})

    def request(
        self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None, tries: int = TRIES
    ) -> Any:
        response = self.send(method, path, body, query, tries)
        return response.json() if response.content else None

    def send(
        self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None, tries: int = TRIES
    ) -> httpx.Response:
        """Only reads, and writes that may be said twice, are tried again after the connection broke."""
        asked = {key: value for key, value in (query or {}).items() if value is not None}
        content = None if body is None else json.dumps(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        for attempt in range(1, tries + 1):
            try:
                response = self.http.request(method, path, content=content, params=asked, headers=headers)
            except httpx.TransportError as error:
                if method != "GET" or attempt == tries:
                    raise AwayError(self.login.address, str(error) or type(error).__name__) from error
                pause = min(0.2 * 2**attempt, LONGEST_PAUSE)
            else:
                if response.status_code not in BUSY or attempt == tries:
                    return require_success(response)
                pause = pause_of(response, attempt)
            time.sleep(pause)
        raise AssertionError("unreachable")

    def close(self) -> None:
        self.http.close()


def pause_of(response: httpx.Response, attempt: int) -> float:
    try:
        return min(float(response.headers.get("Retry-After", "")), LONGEST_PAUSE)
    except ValueError:
        return min(0.2 * 2.0**attempt, LONGEST_PAUSE)


def require_success(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    try:
        answer = response.json()
    except ValueError:
        answer = {}
    answer = answer if isinstance(answer, dict) else {}
    raise LabError(
        response.status_code, str(answer.get("detail") or response.reason_phrase), answer.get("errors") or []
    )


CURRENT: dict[str, Connection] = {}


def connect(address: str | None = None, token: str | None = None) -> Connection:
    """The lab that all further calls speak with; without arguments the one in use, or that of the login."""
    if "lab" not in CURRENT or address or token:
        if "lab" in CURRENT:
            CURRENT.pop("lab").close()
        CURRENT["lab"] = Connection(find_login(address, token))
    return CURRENT["lab"]
