from __future__ import annotations

import time

import redis

from benchmarks.faults.fault import Fault
from benchmarks.faults.trial import Trial

LONGEST_SECONDS = 4.0


def strike(trial: Trial) -> None:
    """Before the launch, so that no bell rings, or while the runs go on. It keeps nothing on disk: all is gone."""
    server = trial.lab.redis
    if during := trial.random.random() < 0.5:
        trial.launch()
        trial.somewhere()
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
    server.stop()
    if not during:
        trial.launch()
    time.sleep(trial.random.uniform(0, LONGEST_SECONDS))
    server.launch()


FAULT = Fault(
    "redis-lost",
    "Redis stopped for up to 4 s, all its data deleted, before a launch or in the middle",
    "runs go on without it; what is launched meanwhile starts when it is back, as PostgreSQL holds the queue",
    strike,
    ("done",),
)
