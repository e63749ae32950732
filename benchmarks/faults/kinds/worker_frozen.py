from __future__ import annotations

import signal
import time

from benchmarks.faults.fault import Fault
from benchmarks.faults.lab import send
from benchmarks.faults.trial import Trial
from benchmarks.faults.zombie import check_refused


def strike(trial: Trial) -> None:
    """The worker, or the worker and its run's process, stand still until the lease has gone to another."""
    trial.launch()
    attempt = trial.somewhere()
    name = trial.worker_of(attempt)
    frozen: list[int | None] = [trial.lab.process(name).pid]
    if trial.random.random() < 0.5:
        frozen.append(trial.lab.runner_of(name))
    for pid in frozen:
        send(pid, signal.SIGSTOP)
    try:
        trial.wait_for(lambda: trial.over(attempt), "a frozen worker's run to be taken away")
        time.sleep(trial.random.uniform(0, 2.0))
    finally:
        for pid in frozen:
            send(pid, signal.SIGCONT)
    check_refused(trial, attempt)


FAULT = Fault(
    "worker-frozen",
    "a worker frozen (SIGSTOP) until its lease has gone to another",
    "the other goes on from the last checkpoint; rows and checkpoints of the one that wakes up are refused",
    strike,
    ("lost",),
)
