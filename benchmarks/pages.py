"""Server time of pages: a lab on an embedded PostgreSQL of its own, and how long a request takes there.

Server time is what a request takes from Django's test client, without the network; the median of several.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.publish import ROOT


@contextmanager
def start_lab() -> Iterator[None]:
    """An empty lab in a home of its own, gone afterwards."""
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
    from config.home import Home
    from config.services.postgres import Postgres

    with tempfile.TemporaryDirectory(prefix="tributary-bench-") as folder:
        server = Postgres(home=Home(Path(folder)), throwaway=True)
        server.start()
        os.environ |= {
            "TRIBUTARY_HOME": folder,
            "DATABASE_URL": server.url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
        try:
            create_tables()
            # Studies are launched where no worker is to be woken up.
            logging.getLogger("experiments.core.messages").setLevel(logging.ERROR)
            from config.serving import prepare_to_serve

            prepare_to_serve()
            yield
        finally:
            server.erase()


def create_tables() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def log_in(name: str) -> Any:
    from django.test import Client

    from experiments.models import User

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(User.objects.get(username=name))
    return client


def measure_page(client: Any, address: str, repeats: int) -> float:
    return median_milliseconds(lambda: client.get(address), repeats)


def median_milliseconds(request: Callable[[], Any], repeats: int) -> float:
    """The first one, which fills caches, is left out."""
    durations = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        status = request().status_code
        durations.append((time.perf_counter() - started) * 1000)
        if status != 200:
            raise RuntimeError(f"status {status}")
    return statistics.median(durations[1:])
