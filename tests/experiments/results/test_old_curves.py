"""A lab that began with an earlier version: its values are read where they are, and moved in the background."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from experiments.compare.selectors.values import (
    best_values,
    final_values,
    last_values,
    target_values,
    total_values,
    values_at,
)
from experiments.export.exporter import ExportRequest, build_table
from experiments.housekeeping.services.attempts import JobAttempt, JobStoppedError
from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import CurveBlock, Job, Metric, MetricRow, Run, RunState, Study, User, Worker
from experiments.operations.doctor import servers
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import rounds_record
from experiments.queue.services.rehash import forget_progress
from experiments.results.live.events import metrics_of
from experiments.results.selectors.summaries import study_summary
from experiments.results.services import curves, old_curves
from experiments.results.services.curves import old_rows_left, values_write
from experiments.results.services.old_curves import curves_work, move_request
from experiments.statistics.curves import curve_statistics, metric_names
from experiments.statistics.finals import final_statistics, small_curves
from tests.experiments.lab import launched, runs_in_order
from workers.engine.records import RoundRecord

pytestmark = pytest.mark.django_db
migration = importlib.import_module("experiments.migrations.0012_curve_blocks")
ROUNDS = 70


def accuracy(run: int, number: int) -> float:
    return math.nan if (run, number) == (0, 7) else (number + run) / 100


@pytest.fixture
def earlier(owner: User, monkeypatch: pytest.MonkeyPatch) -> Study:
    return make_earlier(owner, monkeypatch)


def make_earlier(owner: User, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Two done runs and one that waits for its second attempt, as the version before left them."""
    study = launched(owner, seeds=3, strategy={"name": "fedavg"}, rounds=ROUNDS)
    runs = runs_in_order(study)
    MetricRow.objects.bulk_create(
        MetricRow(run=run, round=number, name=name, value=value)
        for place, run in enumerate(runs)
        for number in range(ROUNDS + 1 if place < 2 else 11)
        for name, value in (("accuracy", accuracy(place, number)), ("bytes_up", 100.0), ("rare", 1.0))
        if name != "rare" or number % 5 == 0
    )
    Run.objects.filter(pk__in=[run.pk for run in runs[:2]]).update(state=RunState.DONE, rounds_done=ROUNDS)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(migration.CURVES.format(f"{migration.BLOCKS} UNION ALL {migration.ROWS}"))
    monkeypatch.setattr(curves, "no_old_rows", Event())
    return study


def whole_table(study: Study) -> list[dict[str, Any]]:
    batches = build_table(ExportRequest(filters={"study": [str(study.pk)]})).batches
    return [row for batch in batches for row in batch.to_pylist()]


def everything_read(study: Study) -> dict[str, Any]:
    runs = [run.pk for run in runs_in_order(study)]
    return {
        "final": sorted(final_values(runs=runs, metric="accuracy"), key=str),
        "last": sorted(last_values(runs=runs, metric="accuracy", last=3), key=str),
        "best": sorted(best_values(runs=runs, metric="accuracy", higher=True), key=str),
        "at": sorted(values_at(runs=runs, metric="accuracy", at=[5, 64]), key=str),
        "target": sorted(target_values(runs=runs, metric="accuracy", target=0.5, higher=True), key=str),
        "total": sorted(total_values(runs=runs, spent=["bytes_up"], until=64), key=str),
        "curves": curve_statistics(cells={"cell": runs}, metric="accuracy", spent=["bytes_up"], with_values=True),
        "finals": final_statistics(studies=[study.pk], metric="accuracy"),
        "small": small_curves(cells={study.pk: runs_in_order(study)[0].cell}),
        "names": metric_names(runs=runs),
        "summary": [str(row) for row in study_summary(study=study.pk, by=["dataset"], rounds=[10, 64]).rows],
        "last round": [str(row) for row in study_summary(study=study.pk, by=["dataset"]).rows],
        "events": metrics_of([(runs[0], 64, None), (runs[1], 3, None)]),  # type: ignore[list-item]
        "export": sorted(whole_table(study), key=str),
        "view": sorted(Metric.objects.values_list("run_id", "round", "name", "value"), key=str),
    }


def test_everything_reads_the_same_before_and_after(earlier: Study, as_owner: Client) -> None:
    runs = [run.pk for run in runs_in_order(earlier)]
    before = everything_read(earlier)
    page = as_owner.get(f"/api/v1/runs/{runs[0]}/metrics").json()
    listed = as_owner.get(f"/api/v1/runs?study={earlier.pk}&sort=-metric.accuracy").json()
    assert {each.run: each.value for each in before["final"]} == {runs[0]: 0.7, runs[1]: 0.71}
    assert {each.run: each.value for each in before["target"]} == {runs[0]: 50.0, runs[1]: 49.0}
    assert sorted(each.value or 0 for each in before["total"]) == [1100.0, 6500.0, 6500.0]
    assert len(before["view"]) == 2 * (71 + 71 + 15) + 11 + 11 + 3
    assert (MetricRow.objects.count(), CurveBlock.objects.count()) == (339, 0)

    assert move_request()
    assert jobs_carry_out() == 1

    # Each done run has three metrics in two blocks; the third has three in one.
    assert (MetricRow.objects.count(), CurveBlock.objects.count()) == (0, 15)
    assert str(everything_read(earlier)) == str(before)
    assert as_owner.get(f"/api/v1/runs/{runs[0]}/metrics").json() == page
    assert as_owner.get(f"/api/v1/runs?study={earlier.pk}&sort=-metric.accuracy").json() == listed
    assert [run["id"] for run in listed["items"]] == [runs[1], runs[0], runs[2]]
    job = Job.objects.get()
    assert (job.state, job.text, job.share) == ("done", "3 runs", 1.0)


def test_when_nothing_is_left_nobody_looks_there_any_more(earlier: Study) -> None:
    assert old_rows_left()
    assert next(iter(servers.check_curves())).severity == "note"
    move_request()
    jobs_carry_out()
    assert not old_rows_left()
    assert [(each.severity, each.seen) for each in servers.check_curves()] == [
        ("good", "All curves are stored as blocks.")
    ]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_viewdef('experiments_curve'::regclass)")
        assert "experiments_metricrow" not in cursor.fetchone()[0]
    assert move_request() is None


def test_a_lab_that_begins_with_this_version_never_had_any(db: None) -> None:
    assert not old_rows_left()
    assert move_request() is None


def test_a_run_whose_values_are_old_goes_on_with_its_next_attempt(earlier: Study, worker: Worker) -> None:
    Study.objects.filter(pk=earlier.pk).update(requires="cpu")
    Run.objects.filter(studies=earlier).update(requires="cpu")
    run = runs_in_order(earlier)[2]
    claim = run_claim(worker=worker)
    assert claim
    assert claim.run == run.pk
    rounds_record(claim=claim, records=[RoundRecord(9, {"accuracy": 0.9}), RoundRecord(11, {"accuracy": 0.11})])
    values = dict(Metric.objects.filter(run=run, name="accuracy").values_list("round", "value"))
    assert values == {**{number: (number + 2) / 100 for number in range(11)}, 9: 0.9, 11: 0.11}
    assert not MetricRow.objects.filter(run=run).exists()
    assert MetricRow.objects.filter(run__state=RunState.DONE).count() == 314
    curves_work(JobAttempt(at_work(), Event()))
    assert dict(Metric.objects.filter(run=run, name="accuracy").values_list("round", "value")) == values


def at_work() -> Job:
    return Job.objects.create(kind="curves", subject="curves", state="running", attempt=1)


@pytest.fixture
def committed(transactional_db: None, owner: User, monkeypatch: pytest.MonkeyPatch, worker: Worker) -> Iterator[Study]:
    yield make_earlier(owner, monkeypatch)
    MetricRow.objects.all().delete()
    assert old_curves.forget_rows()


def test_a_worker_and_the_job_take_turns_at_a_run(committed: Study, worker: Worker, redis_url: str) -> None:
    Study.objects.filter(pk=committed.pk).update(requires="cpu")
    Run.objects.filter(studies=committed).update(requires="cpu")
    claim = run_claim(worker=worker)
    assert claim
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            list(Run.objects.filter(pk=claim.run).select_for_update())
            moving = other.submit(in_thread, lambda: old_curves.run_move(claim.run))
            with pytest.raises(TimeoutError):
                moving.result(timeout=0.5)
            assert MetricRow.objects.filter(run=claim.run).count() == 25
            rounds_record(claim=claim, records=[RoundRecord(10, {"accuracy": 0.5})])
        moving.result()
    values = dict(Metric.objects.filter(run=claim.run, name="accuracy").values_list("round", "value"))
    assert values == {**{number: (number + 2) / 100 for number in range(10)}, 10: 0.5}
    assert not MetricRow.objects.filter(run=claim.run).exists()


def in_thread(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connection.close()


def test_the_last_step_does_not_keep_others_waiting_for_a_long_reader(committed: Study, redis_url: str) -> None:
    MetricRow.objects.all().delete()
    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            assert not Metric.objects.exists()  # whoever has read holds the views until its transaction ends
            assert other.submit(in_thread, old_curves.forget_rows).result() is False
        assert other.submit(in_thread, old_curves.forget_rows).result() is True
    assert not old_rows_left()


def test_old_values_are_forgotten_with_the_rest_of_a_run(earlier: Study) -> None:
    run = runs_in_order(earlier)[2]
    values_write([(run.pk, 64, "accuracy", 0.5)])
    forget_progress(run)
    assert not Metric.objects.filter(run=run).exists()
    earlier.runs.filter(pk=run.pk).delete()
    assert Metric.objects.values("run_id").distinct().count() == 2


@pytest.fixture
def stops_after_one(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    stopping = Event()
    move: Callable[[int], None] = old_curves.run_move

    def move_and_stop(run: int) -> None:
        move(run)
        stopping.set()

    monkeypatch.setattr(old_curves, "run_move", move_and_stop)
    yield stopping
    monkeypatch.setattr(old_curves, "run_move", move)


def test_a_job_that_is_stopped_leaves_whole_runs_and_the_next_goes_on(earlier: Study, stops_after_one: Event) -> None:
    before = str(everything_read(earlier))
    with pytest.raises(JobStoppedError):
        curves_work(JobAttempt(at_work(), stops_after_one))
    assert MetricRow.objects.values("run_id").distinct().count() == 2
    assert str(everything_read(earlier)) == before
    stops_after_one.clear()
    Job.objects.all().delete()
    with pytest.raises(JobStoppedError):
        curves_work(JobAttempt(at_work(), stops_after_one))
    assert MetricRow.objects.values("run_id").distinct().count() == 1
    assert str(everything_read(earlier)) == before
