"""All faults, in the order of the table."""

from __future__ import annotations

from benchmarks.faults.kinds import messages, runs, servers, store, workers
from benchmarks.faults.trial import Fault

FAULTS: tuple[Fault, ...] = (
    workers.RUNNER_KILLED,
    workers.WORKER_KILLED,
    workers.WORKER_LEAVES,
    workers.WORKER_FROZEN,
    workers.WORKER_CUT_OFF,
    servers.REDIS_LOST,
    servers.POSTGRES_RESTARTED,
    messages.MESSAGES_TWICE,
    messages.TWO_WORKERS_RACE,
    servers.DISK_FULL,
    runs.RUN_HANGS,
    runs.RUN_LEAKS,
    servers.WEB_RESTARTED,
    store.STORE_CUT_OFF,
    store.STORE_SLOW,
)
