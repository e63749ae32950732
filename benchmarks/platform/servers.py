"""PostgreSQL and Redis of a platform that is measured or broken, in a home of their own."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.publish import ROOT

if TYPE_CHECKING:
    from config.home import Home
    from config.services.postgres import Postgres
    from config.services.redis import Redis


@contextmanager
def start_servers(**settings: str) -> Iterator[tuple[Home, Postgres, Redis]]:
    """PostgreSQL and Redis as `make up` starts them, in a home that is gone afterwards, and Django set up for them."""
    sys.path[:0] = [str(ROOT / "platform")]
    from config import env
    from config.home import Home
    from config.processes import child_environment
    from config.services.postgres import Postgres
    from config.services.redis import Redis

    home = Home(Path(tempfile.mkdtemp(prefix="tributary-bench-")))
    connections = env.POSTGRES_CONNECTIONS.read(settings)
    postgres, redis = Postgres(home=home, connections=connections), Redis(home=home)
    try:
        postgres.start()
        redis.start()
        addresses = {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url, "TRIBUTARY_HOME": str(home.path)}
        os.environ |= child_environment(**addresses, TRIBUTARY_MAX_WAITING="1000000", **settings)
        migrate()
        yield home, postgres, redis
    finally:
        redis.stop()
        postgres.erase()
        shutil.rmtree(home.path, ignore_errors=True)


def migrate() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
