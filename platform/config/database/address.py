"""DATABASE_URL as Django's settings."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from config.env import SettingError

# A dead network is noticed within half a minute instead of hanging a worker for hours.
CONNECTION_OPTIONS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


def database_settings(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    name = unquote(parts.path.lstrip("/"))
    if not name:
        raise SettingError("DATABASE_URL must name a database: postgresql://user:password@host:5432/name.")
    return {
        "ENGINE": "config.database",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        # Of a Unix socket: its folder.
        "HOST": parts.hostname or options.pop("host", ""),
        "PORT": str(parts.port or options.pop("port", 5432)),
        # Under ASGI every thread keeps its own connection: few and short.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": CONNECTION_OPTIONS | options,
    }


def databases_setting(url: str) -> dict[str, dict[str, Any]]:
    """No address, no database: Django then refuses to query, and `config.commands` says what to do."""
    return {"default": database_settings(url)} if url else {}
