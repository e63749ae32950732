"""What a process that computes inherits: plugins, apps and data of the lab run in it, so no secret of the platform."""

from __future__ import annotations

import os

SECRETS = frozenset(
    {
        "SECRET_KEY",
        "TRIBUTARY_AGENT",
        "DATABASE_URL",
        "REDIS_URL",
        "TRIBUTARY_ADMIN_PASSWORD",
        "TRIBUTARY_OIDC_CLIENT_SECRET",
        "TRIBUTARY_STORE",
    }
)
KEYS_OF_STORES = ("AWS_", "AZURE_STORAGE_", "FSSPEC_", "GOOGLE_APPLICATION_")
"""What an object store is opened with. Where the lab has none, they are its plugins' own."""


def environment_without_secrets() -> dict[str, str]:
    """Whatever computes knows no store but its home: its worker brings and sends the files."""
    hidden = KEYS_OF_STORES if os.environ.get("TRIBUTARY_STORE") else ()
    return {name: value for name, value in os.environ.items() if name not in SECRETS and not name.startswith(hidden)}
