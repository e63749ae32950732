from __future__ import annotations

from benchmarks.faults.fault import Fault
from benchmarks.faults.trial import Trial


def strike(trial: Trial) -> None:
    """Half of the workers come back at once, as under the supervisor; half only when another has taken the run."""
    trial.launch()
    attempt = trial.somewhere()
    name = trial.worker_of(attempt)
    trial.lab.kill(name)
    if trial.random.random() < 0.5:
        trial.wait_for(lambda: trial.over(attempt), "the lease to run out")
    trial.lab.start_worker(name)


FAULT = Fault(
    "worker-killed",
    "`kill -9` of a whole worker, its children included",
    "the run is taken up by the same worker as soon as it is back, or by another when the lease has run out",
    strike,
    ("lost",),
)
