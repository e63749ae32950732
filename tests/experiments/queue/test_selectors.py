from __future__ import annotations

from collections import Counter
from datetime import timedelta

from experiments.models import Round, Run, RunState, Study, User
from experiments.queue.selectors.queue import (
    PAGE,
    QueueFilters,
    filter_queue,
    queue_counts,
    queue_rows,
    speeds_of,
    studies_in_queue,
)
from experiments.queue.services.workers import worker_enlist
from experiments.studies.services.launch import study_launch
from tests.experiments import lab

EVERYTHING = QueueFilters()
ONE = {"strategy": {"name": "fedavg"}}


def launched(owner: User, name: str, **changes: object) -> Study:
    return study_launch(owner=owner, name=name, blocks=[{**lab.BLOCK, **ONE, **changes}])


def order(filters: QueueFilters = EVERYTHING, page: int = 1) -> list[tuple[int, int | None]]:
    return [(row.run.pk, row.place) for row in queue_rows(filters, page=page)]


def ids(study: Study) -> list[int]:
    return [run.pk for run in lab.runs_in_order(study)]


def test_running_runs_come_first_then_the_higher_priority(owner: User) -> None:
    plain, urgent = launched(owner, "Plain", seeds=2), launched(owner, "Urgent", rounds=9, seeds=1)
    Study.objects.filter(pk=urgent.pk).update(priority=5)
    first, second = lab.runs_in_order(plain)
    lab.moved(second, RunState.RUNNING)
    assert order() == [(second.pk, None), (ids(urgent)[0], 1), (first.pk, 2)]
    assert [row.studies for row in queue_rows(QueueFilters())] == [[plain], [urgent], [plain]]


def test_people_take_turns_and_who_has_runs_at_work_waits_for_the_others(owner: User, stranger: User) -> None:
    mine, theirs = launched(owner, "Mine", seeds=4), launched(stranger, "Theirs", rounds=9, seeds=3)
    a, b, c, d = ids(mine)
    x, y, z = ids(theirs)
    assert [run for run, _ in order()] == [a, x, b, y, c, z, d]
    lab.moved(Run.objects.get(pk=a), RunState.RUNNING)
    assert order() == [(a, None), (x, 1), (b, 2), (y, 3), (c, 4), (z, 5), (d, 6)]


def test_what_is_paused_or_lacks_a_gpu_is_in_no_line(owner: User) -> None:
    gpu = study_launch(owner=owner, name="GPU", blocks=[{**lab.BLOCK, **ONE, "seeds": 1}], requires="gpu")
    paused = launched(owner, "Paused", rounds=9, seeds=1)
    plain = launched(owner, "Plain", rounds=8, seeds=1)
    Study.objects.filter(pk=paused.pk).update(paused=True)
    assert order() == [(*ids(plain), 1), (*ids(gpu), None), (*ids(paused), None)]
    worker_enlist(name="fast@lab", host="lab", device="cuda:0", threads=1)
    assert order() == [(*ids(gpu), 1), (*ids(plain), 2), (*ids(paused), None)]


def test_a_run_of_two_studies_is_listed_once_with_both(owner: User, stranger: User) -> None:
    mine, theirs = launched(owner, "Mine", seeds=1), launched(stranger, "Theirs too", seeds=1)
    (row,) = queue_rows(QueueFilters())
    assert row.studies == [mine, theirs]
    assert order(QueueFilters(person=stranger)) == order(QueueFilters(study=mine.pk)) == [(row.run.pk, 1)]


def test_it_is_narrowed_by_study_person_and_state(owner: User, stranger: User) -> None:
    mine, theirs = launched(owner, "Mine", seeds=2), launched(stranger, "Theirs", rounds=9, seeds=3)
    failed = lab.moved(lab.runs_in_order(mine)[0], RunState.FAILED, "Out of memory.")
    running = lab.moved(lab.runs_in_order(theirs)[0], RunState.RUNNING)
    assert [run for run, _ in order(QueueFilters(study=mine.pk))] == [ids(mine)[1]]
    assert [run for run, _ in order(QueueFilters(person=stranger))] == ids(theirs)
    assert order(QueueFilters(state=RunState.FAILED)) == [(failed.pk, None)]
    assert order(QueueFilters(state=RunState.FAILED, person=stranger)) == []
    assert order(QueueFilters(state=RunState.RUNNING)) == [(running.pk, None)]
    assert [run for run, _ in order(QueueFilters(person=stranger, state=RunState.QUEUED))] == ids(theirs)[1:]
    assert queue_counts(QueueFilters()) == Counter(queued=3, failed=1, running=1)
    assert queue_counts(QueueFilters(person=owner)) == Counter(queued=1, failed=1)
    assert set(filter_queue(QueueFilters(person=stranger))) == set(theirs.runs.all())


def test_pages_follow_one_another_without_gap(owner: User) -> None:
    study = launched(owner, "Long", seeds=2 * PAGE + 5)
    lab.moved(lab.runs_in_order(study)[9], RunState.RUNNING)
    listed = [order(page=page) for page in (1, 2, 3, 4)]
    assert [len(page) for page in listed] == [PAGE, PAGE, 5, 0]
    runs = [run for page in listed for run, _ in page]
    expected = ids(study)
    assert runs == [expected[9], *expected[:9], *expected[10:]]


def test_the_speed_is_that_of_the_latest_rounds_of_this_attempt(owner: User) -> None:
    run = lab.moved(lab.runs_in_order(launched(owner, "Fast", rounds=100, seeds=1))[0], RunState.RUNNING)
    Run.objects.filter(pk=run.pk).update(rounds_done=20)
    for number, second in ((0, -4000), (1, -3900), (18, 20), (19, 25), (20, 30)):
        Round.objects.create(run=run, round=number)
        Round.objects.filter(run=run, round=number).update(committed=lab.NOON + timedelta(seconds=second))
    (row,) = queue_rows(QueueFilters())
    assert (row.speed, row.left) == (0.2, timedelta(seconds=400))


def test_one_round_tells_no_speed(owner: User) -> None:
    run = lab.moved(lab.runs_in_order(launched(owner, "New", seeds=1))[0], RunState.RUNNING)
    Round.objects.create(run=run, round=0)
    assert speeds_of([run.pk]) == {}
    assert queue_rows(QueueFilters())[0].left is None


def test_studies_in_the_queue_are_those_that_run_or_wait(owner: User, stranger: User) -> None:
    done, waits = launched(owner, "Done", seeds=1), launched(owner, "Waits", rounds=8, seeds=1)
    runs, paused = launched(stranger, "Runs", rounds=9, seeds=1), launched(stranger, "Paused", rounds=7, seeds=1)
    lab.moved(lab.runs_in_order(done)[0], RunState.DONE)
    lab.moved(lab.runs_in_order(runs)[0], RunState.RUNNING)
    Study.objects.filter(pk=paused.pk).update(paused=True, priority=50)
    Study.objects.filter(pk=runs.pk).update(priority=3)
    assert list(studies_in_queue(QueueFilters())) == [runs, waits, paused]
    assert list(studies_in_queue(QueueFilters(person=owner))) == [waits]
    assert list(studies_in_queue(QueueFilters(study=paused.pk))) == [paused]
