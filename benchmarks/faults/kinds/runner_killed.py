from __future__ import annotations

import signal

from benchmarks.faults.fault import Fault
from benchmarks.faults.lab import send
from benchmarks.faults.trial import Trial


def strike(trial: Trial) -> None:
    trial.launch()
    attempt = trial.somewhere()
    send(trial.lab.runner_of(trial.worker_of(attempt)), signal.SIGKILL)


FAULT = Fault(
    "runner-killed",
    "`kill -9` of a run's process",
    "the attempt ends as crashed with its signal and last words; the run goes on from its checkpoint; its neighbour "
    "notices nothing",
    strike,
    ("crashed",),
)
