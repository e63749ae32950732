"""GET /healthz: whether the lab works, for everyone and without a log-in.

503 `down` when database or broker is away; 200 `degraded` when both answer and runs wait all the same, for want of a
worker or of room on the disk; null workers: unknown.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from redis import Redis
from redis.exceptions import RedisError

from experiments.queue.selectors.workers import living_workers
from workers.home import has_disk_space

PATIENCE_SECONDS = 2.0


@login_not_required
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    workers = count_living_workers()
    database, broker = workers is not None, broker_answers()
    up, room = database and broker, has_disk_space()
    report = {
        "status": "down" if not up else "ok" if workers and room else "degraded",
        "database": "ok" if database else "down",
        "broker": "ok" if broker else "down",
        "disk": "ok" if room else "full",
        "workers": workers,
    }
    return JsonResponse(report, status=200 if up else 503, headers={"Cache-Control": "no-store"})


def count_living_workers() -> int | None:
    """None where the database does not answer."""
    try:
        return living_workers().count()
    except (Error, ImproperlyConfigured):
        connection.close()
        return None


def broker_answers() -> bool:
    try:
        with Redis.from_url(
            settings.REDIS_URL, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS
        ) as client:
            return bool(client.ping())
    except (RedisError, ValueError, OSError):
        return False
