from __future__ import annotations

import signal
import time

from django.db import connection

from benchmarks.faults.fault import Fault
from benchmarks.faults.lab import send
from benchmarks.faults.trial import Trial

LONGEST_SECONDS = 8.0


def strike(trial: Trial) -> None:
    """In order, or at once as after a power cut: then it recovers from its log. Now and then longer than a lease."""
    trial.launch()
    trial.somewhere()
    connection.close()
    server = trial.lab.postgres
    if trial.random.random() < 0.5 and server.process is not None:
        send(server.process.pid, signal.SIGQUIT)
        server.process.wait()
    server.stop()
    time.sleep(trial.random.uniform(0, LONGEST_SECONDS))
    server.launch()


FAULT = Fault(
    "postgres-restarted",
    "PostgreSQL stopped (in order, or at once without a checkpoint) for up to 8 s and started again",
    "workers keep computing and write down what waited; nobody loses a run for want of a database",
    strike,
    ("done",),
)
