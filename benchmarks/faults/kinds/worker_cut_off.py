from __future__ import annotations

import time

from benchmarks.faults.fault import Fault
from benchmarks.faults.lab import FIRST
from benchmarks.faults.trial import Trial
from benchmarks.faults.zombie import check_refused


def strike(trial: Trial) -> None:
    """It computes on behind the cut cable; what it wrote arrives when its run is another's."""
    trial.launch()
    attempt = trial.somewhere(FIRST)
    trial.lab.cable.cut()
    try:
        trial.wait_for(lambda: trial.over(attempt), "a cut-off worker's run to be taken away")
        time.sleep(trial.random.uniform(0, 2.0))
    finally:
        trial.lab.cable.heal()
    check_refused(trial, attempt)


FAULT = Fault(
    "worker-cut-off",
    "a worker cut off from PostgreSQL until its lease has gone to another, then connected again",
    "as before: what it computed meanwhile and what was on its way is refused, row by row",
    strike,
    ("lost",),
)
