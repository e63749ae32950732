"""PostgreSQL, Redis, the processes beside the web server, and runs that nobody works on although they should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from config.http_limits import web_share
from config.processes import agent_connections
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Max, Min
from django.db.models.functions import Now
from redis import Redis
from redis.exceptions import RedisError

from experiments.core.database import Lock
from experiments.models import Device, MetricRow, Run, RunState, Study
from experiments.operations.doctor.findings import Finding, error, good, note, warning
from experiments.queue.selectors.workers import living_workers
from experiments.results.services.curves import old_rows_left

PATIENCE_SECONDS = 2.0
CONNECTIONS = """
SELECT count(*), current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
FROM pg_stat_activity WHERE backend_type = 'client backend'
"""
CONNECTIONS_OF_A_WEB_PROCESS = 2
"""Besides its requests: the listener of events, and its look at readers' rights."""
CONNECTIONS_OF_THE_REST = 10
"""Health checks, scheduler, housekeeping and its jobs, and a command or two."""


def check_database() -> Iterator[Finding]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            yield good(f"PostgreSQL {cursor.fetchone()[0].split()[0]} answers.")
    except ImproperlyConfigured:
        yield not_running_error("PostgreSQL", "DATABASE_URL")
        return
    except Error as refused:
        connections.close_all()
        mend = "Check DATABASE_URL, or start it with `make up`."
        yield error(f"The database does not answer: {first_line(refused)}", mend)
        return
    yield from check_tables()


def check_tables() -> Iterator[Finding]:
    executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        steps = ", ".join(f"{migration.app_label} {migration.name}" for migration, _ in waiting)
        yield error(f"Tables are out of date: {steps}.", "Run `manage.py prepare`; `make up` does it at every start.")
    else:
        yield good("Tables are up to date.")


def check_connections() -> Iterator[Finding]:
    """Whether all requests and all workers could be at work at the same moment."""
    with connection.cursor() as cursor:
        cursor.execute(CONNECTIONS)
        used, limit = cursor.fetchone()
    hosts = Counter(living_workers().values_list("host", flat=True))
    workers = hosts.total()
    processes = settings.WEB_PROCESSES
    requests = processes * web_share(settings.WEB_REQUESTS)
    needed = (
        requests
        + CONNECTIONS_OF_A_WEB_PROCESS * processes
        + sum(map(agent_connections, hosts.values()))
        + CONNECTIONS_OF_THE_REST
    )
    need = f"{requests} requests and {workers} worker{'' if workers == 1 else 's'} at once may need {needed}"
    if needed <= limit:
        yield good(f"PostgreSQL gives {limit} connections, {used} are open; {need}.")
    else:
        mend = "Raise TRIBUTARY_POSTGRES_CONNECTIONS (max_connections of your own), or lower TRIBUTARY_WEB_REQUESTS."
        yield warning(f"PostgreSQL gives {limit} connections, {used} are open, but {need}.", mend)


def check_broker() -> Iterator[Finding]:
    if not settings.REDIS_URL:
        yield not_running_error("Redis", "REDIS_URL")
        return
    patience = {"socket_timeout": PATIENCE_SECONDS, "socket_connect_timeout": PATIENCE_SECONDS}
    try:
        with Redis.from_url(settings.REDIS_URL, **patience) as client:
            yield good(f"Redis {client.info('server')['redis_version']} answers.")
    except (RedisError, ValueError, OSError) as refused:
        mend = "Check REDIS_URL, or start it with `make up`. Queued runs are safe: PostgreSQL holds them."
        yield error(f"Redis does not answer: {first_line(refused)}", mend)


def check_scheduler() -> Iterator[Finding]:
    """Whoever works holds the lock."""
    lock_query = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND database = " + (
        "(SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with connection.cursor() as cursor:
        cursor.execute(lock_query, [int(Lock.SCHEDULER)])
        if cursor.fetchone():
            yield good("A scheduler is at work.")
        else:
            yield error("No scheduler is at work.", "Start `manage.py scheduler`; `make up` has one.")


def check_workers() -> Iterator[Finding]:
    living = list(living_workers())
    if not living:
        yield warning("No worker is alive.", "Start `make up` here, or `manage.py workers` on further machines.")
        return
    yield good(f"{len(living)} worker{'s are' if len(living) > 1 else ' is'} alive.")
    if leaving := [each.name for each in living if each.draining]:
        yield note(f"Takes no further run: {', '.join(leaving)}.")
    torches = {each.facts["versions"]["torch"] for each in living if "torch" in each.facts.get("versions", {})}
    if len(torches) > 1:
        mend = "Install the same everywhere: equal specs give equal numbers only with equal versions."
        yield warning(f"Workers have different versions of torch: {', '.join(sorted(torches))}.", mend)


def not_running_error(server: str, variable: str) -> Finding:
    return error(f"No {server} runs on {settings.HOME.path}.", f"Start Tributary with `make up`, or set {variable}.")


def first_line(refused: Exception) -> str:
    return (str(refused).strip().splitlines() or [type(refused).__name__])[0]


LATE = timedelta(minutes=1)


def check_leases() -> Iterator[Finding]:
    """The scheduler takes them back within seconds."""
    stale = Run.objects.filter(state=RunState.RUNNING, lease_until__lt=Now() - LATE).order_by("pk")
    if stale_runs := list(stale.values_list("pk", flat=True)[:10]):
        runs = ", ".join(map(str, stale_runs))
        yield warning(
            f"Leases of running runs ran out and were not taken back: run {runs}.", "Start `manage.py scheduler`."
        )
    else:
        yield good("Every running run has a worker.")


def check_waiting() -> Iterator[Finding]:
    active = Study.objects.filter(memberships__waiting=True, paused=False, cancelled=False)
    if not (devices := set(active.values_list("requires", flat=True))):
        yield good("No run waits.")
    elif Device.GPU in devices and not living_workers().exclude(device="cpu").exists():
        yield warning("Runs wait for a GPU, and no worker has one.", "Start a GPU worker, or launch them for the CPU.")
    else:
        yield good("Every waiting run has a worker that may take it.")


def check_curves() -> Iterator[Finding]:
    """Of a lab that began with an earlier version, until housekeeping has moved all of them."""
    if not old_rows_left():
        yield good("All curves are stored as blocks.")
        return
    left = MetricRow.objects.aggregate(first=Min("run_id"), last=Max("run_id"))
    where = f"of runs {left['first']} to {left['last']}" if left["last"] else "of no run"
    yield note(f"Curves {where} are stored as before: housekeeping moves them, run after run.")
