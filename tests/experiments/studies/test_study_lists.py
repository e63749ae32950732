from __future__ import annotations

from datetime import timedelta

from django.template.loader import render_to_string
from django.utils import timezone

from experiments.models import RunState, User, Worker
from experiments.queue.selectors.workers import Pulse, current_pulse, worker_rows
from experiments.results.selectors.runs import FailureGroup, failure_groups
from experiments.studies.selectors.cells import cells_of
from experiments.studies.selectors.study_list import StudyFilters, list_studies
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


def test_a_worker_whose_rounds_take_minutes_is_not_called_idle(owner: User) -> None:
    run = lab.moved(lab.runs_in_order(lab.launched(owner))[0], RunState.RUNNING)
    run.worker = worker("patient", speed=0.0)
    run.save()
    assert render_to_string("parts/pulse.html", {"pulse": current_pulse()}).strip() == "1 worker · 1 at work"
    lab.moved(run, RunState.DONE)
    assert render_to_string("parts/pulse.html", {"pulse": current_pulse()}).strip() == "1 worker · idle"


def test_only_workers_with_a_fresh_heartbeat_count(owner: User) -> None:
    worker("fresh", speed=3.5)
    busy = worker("busy", age=1, speed=1.0)
    worker("a-silent-one", age=3600, speed=9.0)
    run = lab.moved(lab.runs_in_order(lab.launched(owner))[0], RunState.RUNNING)
    run.worker = busy
    run.save()
    assert current_pulse() == Pulse(2, 4.5, busy=1)
    assert [(row.worker.name, row.alive, row.run) for row in worker_rows()] == [
        ("busy", True, run),
        ("fresh", True, None),
        ("a-silent-one", False, None),
    ]


def found(search: str) -> list[str]:
    return [row.study.name for row in list_studies(StudyFilters(search)).rows]


def test_every_word_of_a_search_must_occur_somewhere(owner: User) -> None:
    lab.launched(owner, "Rivers and streams")
    lab.launched(owner, "Rivers and lakes", rounds=4)
    assert found("rivers OWNER streams") == ["Rivers and streams"]
    assert found("logistic rivers") == [
        "Rivers and lakes",
        "Rivers and streams",
    ]
    assert found("100%") == []
