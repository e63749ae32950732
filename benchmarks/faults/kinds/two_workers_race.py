from __future__ import annotations

from threading import Barrier, Thread

from benchmarks.faults.fault import Fault
from benchmarks.faults.lab import WORKERS
from benchmarks.faults.trial import Trial
from experiments.models import Device
from experiments.queue.services.wake_up import send_bells

RINGERS, BELLS = 3, 5


def strike(trial: Trial) -> None:
    """One run, two idle workers, and a storm of bells at the moment of its launch."""
    ears = [trial.lab.ear(name) for name in WORKERS]
    together = Barrier(RINGERS + 1)
    bells = [Thread(target=ring, args=[together]) for _ in range(RINGERS)]
    for each in bells:
        each.start()
    together.wait()
    trial.launch(1)
    trial.strike_at(trial.wait_for(trial.at_work))
    for each in bells:
        each.join()
    trial.finish()
    trial.wait_for(lambda: all(" received" in heard() for heard in ears), "both workers to hear a bell")


def ring(together: Barrier) -> None:
    together.wait()
    for _ in range(BELLS):
        send_bells([Device.CPU])


FAULT = Fault(
    "two-workers-race",
    "two workers race for one run",
    "one gets it: its row is locked while it is claimed",
    strike,
    ("done",),
)
