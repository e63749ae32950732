"""What a worker may not do with a run that is no longer its own."""

from __future__ import annotations

from benchmarks.faults.trial import MissedError, Trial
from experiments.models import Attempt, Outcome

REFUSED = "This attempt no longer holds the run."


def check_refused(trial: Trial, attempt: Attempt) -> None:
    """Its worker was told so, and its attempt is as it was when it was taken away, checkpoint included."""
    taken = Attempt.objects.get(pk=attempt.pk)
    if taken.outcome == Outcome.DONE:
        raise MissedError
    name = trial.worker_of(attempt)
    line = f"Run {attempt.run_id}: {REFUSED}"
    trial.wait_for(lambda: line in trial.lab.platform.log(name), f"{name} to learn that it lost its run")
    now = Attempt.objects.get(pk=attempt.pk)
    same = (now.ended, now.outcome, now.checkpoint) == (taken.ended, taken.outcome, taken.checkpoint)
    trial.demand(same, f"the attempt of run {attempt.run_id} was changed after its end")
