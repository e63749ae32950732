from __future__ import annotations

import subprocess

from config.up import WORKER_GRACE

from benchmarks.faults.fault import Fault
from benchmarks.faults.trial import Trial
from experiments.models import Attempt, Outcome


def strike(trial: Trial) -> None:
    trial.launch()
    attempt = trial.somewhere()
    name = trial.worker_of(attempt)
    process = trial.lab.platform.processes.pop(name)
    told = rounds_told(attempt)
    process.terminate()
    try:
        process.wait(WORKER_GRACE)
    except subprocess.TimeoutExpired:
        trial.problems.append(f"{name} did not leave within {WORKER_GRACE:g} seconds")
        process.kill()
        process.wait()
    check_saved(trial, Attempt.objects.get(pk=attempt.pk), told)
    trial.lab.start_worker(name)


def rounds_told(attempt: Attempt) -> int:
    return max([0, *attempt.run.rounds.values_list("round", flat=True)])


def check_saved(trial: Trial, left: Attempt, told: int) -> None:
    """What was told before is in the checkpoint: none of it is computed again."""
    trial.demand(left.ended is not None, f"{left.worker} left without giving up its run")
    saved = left.checkpoint_round or 0
    trial.demand(left.outcome == Outcome.DONE or saved >= told, f"round {told} was told, but only {saved} saved")


FAULT = Fault(
    "worker-leaves",
    "SIGTERM to a worker",
    "it saves the run where it is, hands it back and leaves within its grace time of 20 s; no round is computed twice",
    strike,
    ("released",),
)
