from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from experiments.models import RunState, User, Worker
from experiments.queue.selectors.workers import Pulse, current_pulse, worker_rows
from experiments.results.selectors.runs import FailureGroup, failure_groups
from experiments.studies.selectors.cells import cells_of
from experiments.studies.selectors.studies import study_rows, study_to_watch
from tests.experiments import lab


def worker(name: str, age: int = 0, speed: float = 0.0) -> Worker:
    now = timezone.now()
    beat = now - timedelta(seconds=age)
    return Worker.objects.create(
        name=name, host="lab", device="cpu", started=now, heartbeat=beat, rounds_per_second=speed
    )


def test_cells_come_in_the_order_of_the_grid(owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    lab.moved(runs[4], RunState.DONE)
    cells = cells_of(studies=[study.pk])
    assert [(cell.spec["strategy"]["name"], cell.seeds, cell.done) for cell in cells] == [
        ("fedavg", 3, 0),
        ("fedprox", 3, 1),
    ]


def test_failures_are_grouped_by_the_first_line_of_their_reason(owner: User) -> None:
    runs = lab.runs_in_order(lab.launched(owner))
    lab.moved(runs[0], RunState.FAILED, "Disk full")
    lab.moved(runs[1], RunState.FAILED, "Out of memory.\nat step 3")
    lab.moved(runs[2], RunState.FAILED, "Out of memory.\nat step 9")
    lab.moved(runs[3], RunState.FAILED)
    study = runs[0].studies.get()
    assert failure_groups(study=study.pk) == [
        FailureGroup("Out of memory.", 2, runs[1].pk),
        FailureGroup("Disk full", 1, runs[0].pk),
        FailureGroup("No reason was recorded.", 1, runs[3].pk),
    ]


def test_only_workers_with_a_fresh_heartbeat_count(owner: User) -> None:
    worker("fresh", speed=3.5)
    busy = worker("busy", age=1, speed=1.0)
    worker("a-silent-one", age=3600, speed=9.0)
    run = lab.moved(lab.runs_in_order(lab.launched(owner))[0], RunState.RUNNING)
    run.worker = busy
    run.save()
    assert current_pulse() == Pulse(2, 4.5)
    assert [(row.worker.name, row.alive, row.run) for row in worker_rows()] == [
        ("busy", True, run),
        ("fresh", True, None),
        ("a-silent-one", False, None),
    ]


def test_it_watches_the_newest_study_that_runs(owner: User) -> None:
    assert study_to_watch() is None
    older, newer = lab.launched(owner, "Older"), lab.launched(owner, "Newer", rounds=5)
    lab.record(lab.runs_in_order(newer)[0], {"loss": [1.0, 0.5]})
    assert study_to_watch() is not None
    assert (study_to_watch().study.name, study_to_watch().running) == ("Newer", False)
    lab.moved(lab.runs_in_order(older)[0], RunState.RUNNING)
    assert (study_to_watch().study.name, study_to_watch().running) == ("Older", True)


def test_every_word_of_a_search_must_occur_somewhere(owner: User) -> None:
    lab.launched(owner, "Rivers and streams")
    lab.launched(owner, "Rivers and lakes", rounds=4)
    assert [row.study.name for row in study_rows(search="rivers OWNER streams")] == ["Rivers and streams"]
    assert [row.study.name for row in study_rows(search="logistic rivers")] == [
        "Rivers and lakes",
        "Rivers and streams",
    ]
    assert study_rows(search="100%") == []
