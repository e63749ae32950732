from __future__ import annotations

from benchmarks.faults.fault import Fault
from benchmarks.faults.odd_runs import strike_by
from benchmarks.faults.trial import Trial


def strike(trial: Trial) -> None:
    strike_by(trial, "leaks", "The run used more than the ")


FAULT = Fault(
    "run-leaks",
    "a run that takes more and more memory, beside one that does not",
    "as before",
    strike,
    ("failed",),
)
