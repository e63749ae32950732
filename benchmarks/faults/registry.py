"""All faults, in the order of the table."""

from __future__ import annotations

from benchmarks.faults.fault import Fault
from benchmarks.faults.kinds import (
    disk_full,
    messages_twice,
    postgres_restarted,
    redis_lost,
    run_hangs,
    run_leaks,
    runner_killed,
    two_workers_race,
    web_restarted,
    worker_cut_off,
    worker_frozen,
    worker_killed,
    worker_leaves,
)

FAULTS: tuple[Fault, ...] = (
    runner_killed.FAULT,
    worker_killed.FAULT,
    worker_leaves.FAULT,
    worker_frozen.FAULT,
    worker_cut_off.FAULT,
    redis_lost.FAULT,
    postgres_restarted.FAULT,
    messages_twice.FAULT,
    two_workers_race.FAULT,
    disk_full.FAULT,
    run_hangs.FAULT,
    run_leaks.FAULT,
    web_restarted.FAULT,
)
