"""Real servers for every test: PostgreSQL and Redis in a home of their own, started when first needed.

- `db` and `transactional_db` (pytest-django) work as usual.
- `redis_url` starts Redis.
- `live_platform` runs the web server, a Celery worker and the scheduler as processes against the test database: rows
  made through the ORM are seen by them. They are started once for all tests; what a module made, stopped or started is
  undone after it. Modules that use it run after all others, whose rows it would touch.
- `real` unpacks a real data set where those are beside the repository, once for all tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import django
import pytest
from config.home import Home
from config.processes import child_environment
from config.services.postgres import Postgres
from config.services.redis import Redis
from django.db import OperationalError, connections, transaction
from django.test.utils import setup_databases
from hypothesis import settings as hypothesis_settings
from psycopg2.errors import DeadlockDetected, LockNotAvailable
from pytest_django import DjangoDbBlocker, Settings

from tests.live import LivePlatform

HOME = Home(Path(tempfile.mkdtemp(prefix="tributary-test-")))
POSTGRES = Postgres(home=HOME, throwaway=True)
REDIS = Redis(home=HOME)
LONG = ("test_faults.py", "test_ray.py", "test_state_machine.py", "test_quick_scales.py", "test_sharing.py")
"""With two processes, what takes a minute must not come last."""
# `make check` draws fewer examples; `make test` has Hypothesis' own number.
hypothesis_settings.register_profile("check", max_examples=40)
FLUSH_TRIES = 60
UNPACK = Path(__file__).resolve().parents[2] / "shared" / "data" / "unpack"

# Before Django reads its settings. The servers start later, and only if a test asks for them.
os.environ |= {
    "PYTHONPATH": child_environment()["PYTHONPATH"],
    # Runs of tests take seconds: they are saved by rounds.
    "TRIBUTARY_CHECKPOINT_SECONDS": "0",
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "TRIBUTARY_HOME": str(HOME.path),
    "DATABASE_URL": POSTGRES.url,
    "REDIS_URL": REDIS.url,
    # Playwright runs an event loop in the main thread; Django would refuse the ORM beside it.
    "DJANGO_ALLOW_ASYNC_UNSAFE": "1",
}


def pytest_configure(config: pytest.Config) -> None:
    django.setup()
    if config.getoption("numprocesses", None):
        # pytest-xdist's processes have servers of their own: with this set they would read these settings too early.
        del os.environ["DJANGO_SETTINGS_MODULE"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs no running platform first, then what does, browsers last; of each, the long modules first.

    Playwright's event loop stays in the main thread, where no other may then be started.
    """
    live = {item.path for item in items if "live_platform" in getattr(item, "fixturenames", ())}

    def turn(item: pytest.Item) -> int:
        if "e2e" in item.path.parts:
            return 4
        if item.path in live:
            return 2 if item.path.name in LONG else 3
        return 0 if item.path.name in LONG else 1

    items.sort(key=turn)


def pytest_unconfigure() -> None:
    REDIS.stop()
    POSTGRES.erase()
    shutil.rmtree(HOME.path, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Postgres:
    if not POSTGRES.running:
        POSTGRES.start()
    return POSTGRES


@pytest.fixture(scope="session")
def redis_url() -> str:
    if not REDIS.running:
        REDIS.start()
    return REDIS.url


def flush_patiently(operations: Any, statements: Sequence[str]) -> None:
    """In place of Django's own, for every flush after a test and for `LivePlatform.empty`.

    TRUNCATE locks table after table while the platform's processes hold some of them and ask for others: a deadlock,
    which PostgreSQL ends after a second by failing either side. Giving way before that and trying again fails neither.
    """
    for attempt in range(1, FLUSH_TRIES + 1):
        try:
            with transaction.atomic(), operations.connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '500ms'")
                for statement in statements:
                    cursor.execute(statement)
            return
        except OperationalError as error:
            if attempt == FLUSH_TRIES or not isinstance(error.__cause__, DeadlockDetected | LockNotAvailable):
                raise
            time.sleep(0.1)


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker, postgres: Postgres
) -> Iterator[None]:
    """In place of pytest-django's, which makes no database where only `live_platform` asks for one."""
    with django_db_blocker.unblock():
        setup_databases(verbosity=0, interactive=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(connections["default"].ops), "execute_sql_flush", flush_patiently)
        yield
    with django_db_blocker.unblock():
        connections.close_all()


@pytest.fixture(autouse=True)
def quick_passwords(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def forget_specs() -> None:
    """Specs are remembered by the number of their run, and runs of another test had the same numbers."""
    from experiments.results.selectors.runs import known_specs

    known_specs.clear()


@pytest.fixture(scope="module", autouse=True)
def data_sets_of_this_module() -> Iterator[None]:
    """What a module imports is not there for the next: a part of MNIST would make every plan with MNIST another."""
    yield
    shutil.rmtree(HOME.path / "datasets", ignore_errors=True)


@pytest.fixture(scope="session")
def shared_platform(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, redis_url: str
) -> Iterator[LivePlatform]:
    platform = LivePlatform(HOME)
    yield platform
    platform.stop()


@pytest.fixture(scope="module")
def live_platform(shared_platform: LivePlatform, django_db_blocker: DjangoDbBlocker) -> Iterator[LivePlatform]:
    with django_db_blocker.unblock():
        shared_platform.complete()
        yield shared_platform
        shared_platform.empty()


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a real data set in its publisher's layout, unpacked once."""
    if not UNPACK.exists():
        pytest.skip("real data sets are not beside the repository (../shared/data)")
    target = tmp_path_factory.mktemp("real")

    def folder(name: str) -> Path:
        if not (target / name).exists():
            subprocess.run([sys.executable, str(UNPACK), str(target), name], check=True, capture_output=True)
        return target / name

    return folder
