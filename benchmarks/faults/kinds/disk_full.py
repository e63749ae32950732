from __future__ import annotations

import time

from benchmarks.faults.fault import Fault
from benchmarks.faults.small_disk import small_disk
from benchmarks.faults.trial import MissedError, Trial
from experiments.models import RunState
from experiments.studies.services.changes import study_retry

WORDS = "could not be written"


def strike(trial: Trial) -> None:
    """From a random moment until a checkpoint was tried in vain, and a little longer."""
    heard = trial.lab.ear()
    disk = trial.scene.enter_context(small_disk(trial.lab))
    study = trial.launch()
    attempt = trial.somewhere()
    with disk.full(trial.worker_of(attempt)):
        trial.wait_for(lambda: trial.over(attempt) or WORDS in heard(), "a checkpoint to be refused")
        time.sleep(trial.random.uniform(0, 0.3))
    trial.finish()
    if WORDS not in heard():
        raise MissedError
    if unsaved := set(study.runs.filter(state=RunState.FAILED).values_list("pk", flat=True)):
        trial.touched |= unsaved
        study_retry(study=study, actor=trial.lab.owner)
        trial.finish()


FAULT = Fault(
    "disk-full",
    "the disk full while checkpoints are written",
    "runs go on without a new checkpoint, and say so; one that ends on a full disk fails with that reason, and Retry "
    "takes it up at its last checkpoint; no run begins while there is no room",
    strike,
    ("done", "failed"),
)
