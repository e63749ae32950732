"""What a process that computes inherits: plugins, apps and data of the lab run in it, so no secret of the platform."""

from __future__ import annotations

import os

SECRETS = frozenset({"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "TRIBUTARY_ADMIN_PASSWORD"})


def environment_without_secrets() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in SECRETS}
