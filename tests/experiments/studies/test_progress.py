from __future__ import annotations

from collections import Counter
from datetime import timedelta
from uuid import uuid4

from django.utils import timezone

from experiments.models import Attempt, Membership, Run, RunState, Study, User
from experiments.studies.selectors.progress import Progress, progress_of
from tests.experiments import lab


def of(study: Study) -> Progress:
    study.refresh_from_db()
    return progress_of([study])[study.pk]


def test_it_counts_runs_and_rounds(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.record(runs[0], {"loss": [3.0, 2.0, 1.0]})
    lab.moved(runs[1], RunState.FAILED, "Out of memory.\nTraceback ...")
    progress = of(study)
    assert progress.counts == Counter(done=1, failed=1, queued=4)
    assert (progress.runs, progress.finished, progress.rounds_done, progress.rounds_total) == (6, 1, 2, 12)
    assert progress.reason == "Out of memory."


def test_its_state_is_what_still_moves_and_then_what_went_wrong(owner: User) -> None:
    study = lab.launched(owner, strategy={"name": "fedavg"})
    first, second, third = lab.runs_in_order(study)
    states = [of(study).state]
    lab.moved(first, RunState.RUNNING)
    states.append(of(study).state)
    for run in (first, second):
        lab.moved(run, RunState.DONE)
    Study.objects.update(paused=True)
    states.append(of(study).state)
    lab.moved(third, RunState.FAILED)
    states.append(of(study).state)
    lab.moved(third, RunState.DONE)
    states.append(of(study).state)
    assert states == ["queued", "running", "paused", "failed", "done"]


def test_a_cancelled_study_stays_so_while_another_study_goes_on_with_its_runs(owner: User) -> None:
    study = lab.launched(owner)
    Study.objects.update(cancelled=True)
    lab.moved(lab.runs_in_order(study)[0], RunState.RUNNING)
    assert of(study).state == "cancelled"


def test_it_tells_how_long_a_study_took_without_reused_runs(owner: User) -> None:
    study = lab.launched(owner, strategy={"name": "fedavg"})
    for run in lab.runs_in_order(study):
        lab.moved(run, RunState.DONE)
    assert of(study).took == timedelta(seconds=30)
    Membership.objects.update(reused=True)
    assert of(study).took is None


def test_it_estimates_nothing_while_nothing_runs(owner: User) -> None:
    study = lab.launched(owner)
    lab.record(lab.runs_in_order(study)[0], {"loss": [3.0, 2.0, 1.0]})
    assert of(study).left is None


def test_it_counts_what_a_resumed_run_took_before_and_nothing_of_the_time_between(owner: User) -> None:
    """One round in 50 s before the pause and 10 s since: 60 s a round, five rounds to go."""
    study = lab.launched(owner, strategy={"name": "fedavg"})
    resumed, claimed_ahead, _ = lab.runs_in_order(study)
    now = timezone.now()
    paused = now - timedelta(hours=3)
    begun = paused - timedelta(seconds=50)
    Attempt.objects.create(run=resumed, number=1, token=uuid4(), worker="w", started=begun, ended=paused)
    resumed.rounds_done, resumed.started = 1, now - timedelta(seconds=10)
    Attempt.objects.create(run=resumed, number=2, token=uuid4(), worker="w", started=resumed.started)
    lab.moved(resumed, RunState.RUNNING)
    lab.moved(claimed_ahead, RunState.RUNNING)
    Run.objects.filter(pk=claimed_ahead.pk).update(started=None)
    left = of(study).left
    assert left is not None
    assert left // timedelta(seconds=20) == 300 // 20


def test_a_study_without_runs_is_empty(owner: User) -> None:
    study = Study.objects.create(name="Nothing", owner=owner, blocks=[])
    assert (of(study).state, of(study).runs) == ("empty", 0)
