from __future__ import annotations

from benchmarks.faults.fault import Fault
from benchmarks.faults.odd_runs import strike_by
from benchmarks.faults.trial import Trial


def strike(trial: Trial) -> None:
    strike_by(trial, "hangs", "The run gave no sign for ")


FAULT = Fault(
    "run-hangs",
    "a run that hangs, beside one that does not",
    "it is ended and fails with the limit and its last words, keeping its rounds; its neighbour notices nothing",
    strike,
    ("failed",),
)
