"""Runs that are claimed ahead, on a worker whose runner is a small program of our own: what begins, what goes back.

The runner writes down which seeds it begins. The third run (seed 2) does what the test wants of it; the two before it
have shown by then that the study's runs are short.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiments.models import Attempt, Metric, Run, Study, User
from experiments.queue.services.claim import run_claim, runs_claim_ahead
from experiments.queue.services.runs import run_cancel
from experiments.results.services.curves import old_rows_left
from experiments.studies.services.changes import study_cancel
from experiments.studies.services.launch import study_launch
from tests.live import eventually
from workers.queue import task
from workers.queue.slot import Slot
from workers.queue.task import RunAttempt, StudyPace, WorkerProcess

pytestmark = pytest.mark.django_db(transaction=True)
Event = dict[str, Any]

RUNNER = """
import json, os, sys, time
from pathlib import Path
here = Path(__file__).parent
def tell(event, **data):
    print(json.dumps({"event": event, **data}), flush=True)
tell("ready")
for line in sys.stdin:
    job = json.loads(line)
    if job["do"] == "stop":
        continue
    seed = job["spec"]["seed"]
    with (here / "begun").open("a") as file:
        print(seed, file=file)
    tell("started", engine="cohort", device="cpu")
    tell("round", round=0, metrics={"loss": 2.0}, cohort=[], clients={})
    if seed == 2:
        third()
    tell("round", round=1, metrics={"loss": float(seed)}, cohort=[0], clients={})
    tell("done", provenance={}, findings={}, artifact=job["artifacts"])
"""
WAITS = """
def third():
    while not (here / "go").exists():
        time.sleep(0.02)
"""
DIES = """
def third():
    os._exit(3)
"""


@pytest.fixture
def study(redis_url: str) -> Study:
    owner = User.objects.create(username="owner", role="member")
    block = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}, "rounds": 1}
    return study_launch(owner=owner, name="Short runs", blocks=[{**block, "seeds": 9}])


Hire = Callable[[str], WorkerProcess]


@pytest.fixture
def hire(tmp_path: Path) -> Iterator[Hire]:
    processes: list[WorkerProcess] = []

    def make(third: str) -> WorkerProcess:
        (tmp_path / "runner.py").write_text(RUNNER.replace('tell("ready")', third + '\ntell("ready")'))
        process = WorkerProcess("worker-1@lab", "cpu", 1)
        process.slot = Slot(command=[sys.executable, str(tmp_path / "runner.py")])
        processes.append(process)
        process.slot.warm()
        while not process.slot.poll(1.0):
            pass
        return process

    yield make
    for process in processes:
        process.leaving.set()
        process.slot.kill()
        process.slot.close()


class AtWork:
    """The worker in a thread, up to where its third run is at work and the two after it are held ahead.

    With the second, three more are claimed: half of the seven that wait.
    """

    def __init__(self, process: WorkerProcess, folder: Path) -> None:
        self.process, self.folder = process, folder
        self.thread = Thread(target=self.work)
        self.thread.start()
        eventually(lambda: seeds_in("running", begun=True) == [2] and seeds_in("running", begun=False) == [3, 4], 30)

    def work(self) -> None:
        self.process.work()
        connection.close()

    def go_on(self) -> None:
        (self.folder / "go").touch()
        self.thread.join(60)
        assert not self.thread.is_alive()


def seeds_in(state: str, **more: bool) -> list[int]:
    runs = Run.objects.filter(state=state, **({"started__isnull": not more["begun"]} if more else {}))
    return list(runs.order_by("seed").values_list("seed", flat=True))


def begun(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "begun").read_text().split()]


def outcomes(seed: int) -> list[str]:
    return list(Attempt.objects.filter(run__seed=seed).order_by("number").values_list("outcome", flat=True))


def test_short_runs_follow_each_other_and_every_round_is_there_once(study: Study, hire: Hire, tmp_path: Path) -> None:
    at_work = AtWork(hire(WAITS), tmp_path)
    at_work.go_on()
    assert begun(tmp_path) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert seeds_in("done", begun=True) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert [outcomes(seed) for seed in range(9)] == [["done"]] * 9
    assert list(Metric.objects.order_by("run__seed", "round").values_list("run__seed", "round", "value")) == [
        row for seed in range(9) for row in ((seed, 0, 2.0), (seed, 1, float(seed)))
    ]
    assert not Attempt.objects.filter(started__gt=connection_time()).exists()


def connection_time() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


def test_one_that_is_cancelled_before_its_turn_is_never_computed(study: Study, hire: Hire, tmp_path: Path) -> None:
    at_work = AtWork(hire(WAITS), tmp_path)
    run_cancel(run=Run.objects.get(seed=4), actor=study.owner)
    eventually(lambda: seeds_in("cancelled") == [4], 10)
    at_work.go_on()
    assert begun(tmp_path) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert (outcomes(4), seeds_in("cancelled")) == (["cancelled"], [4])


def test_a_cancelled_study_stops_the_run_at_work_and_computes_none_of_those_behind_it(
    study: Study, hire: Hire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "STOP_SECONDS", 0.0)
    at_work = AtWork(hire(WAITS), tmp_path)
    study_cancel(study=study, actor=study.owner)
    at_work.thread.join(30)
    assert begun(tmp_path) == [0, 1, 2]
    assert seeds_in("cancelled") == [2, 3, 4, 5, 6, 7, 8]


def test_a_worker_that_leaves_gives_back_uncounted_what_it_had_not_begun(
    study: Study, hire: Hire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "STOP_SECONDS", 0.0)
    at_work = AtWork(hire(WAITS), tmp_path)
    at_work.process.leaving.set()
    at_work.thread.join(30)
    assert begun(tmp_path) == [0, 1, 2]
    assert seeds_in("queued") == [2, 3, 4, 5, 6, 7, 8]
    assert [outcomes(seed) for seed in range(2, 6)] == [["released"], ["released"], ["released"], []]
    assert not Run.objects.filter(crashes__gt=0).exists()


def test_a_runner_that_dies_costs_only_the_run_it_was_at(study: Study, hire: Hire, tmp_path: Path) -> None:
    hire(DIES).work()
    assert seeds_in("failed") == [2]
    assert outcomes(2) == ["crashed", "crashed", "crashed"]
    assert seeds_in("done") == [0, 1, 3, 4, 5, 6, 7, 8]
    assert [outcomes(seed) for seed in (3, 4, 5)] == [["released", "done"], ["released", "done"], ["done"]]
    assert not Run.objects.filter(state="done", crashes__gt=0).exists()
    assert list(Metric.objects.filter(run__seed=2).values_list("round", "value")) == [(0, 2.0)]


def test_behind_a_run_that_takes_longer_than_expected_nothing_waits(
    study: Study, hire: Hire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work = AtWork(hire(WAITS), tmp_path)
    monkeypatch.setattr(task, "AHEAD_PATIENCE_SECONDS", 0.0)
    eventually(lambda: seeds_in("queued") == [3, 4, 5, 6, 7, 8], 10)
    assert outcomes(3) == ["released"]
    at_work.go_on()
    assert seeds_in("done") == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_what_a_run_was_told_to_stop_never_ends_its_follower(study: Study, hire: Hire, tmp_path: Path) -> None:
    """The cancel comes back with the rounds that its end came with: the runner is at the next by then."""
    process = hire(WAITS)
    process.send_heartbeat()
    assert process.worker
    claim = run_claim(worker=process.worker)
    assert claim
    process.ahead.extend(runs_claim_ahead(worker=process.worker, most={study.pk: 1}))
    attempt = RunAttempt(process, claim)
    Run.objects.filter(pk=claim.run).update(cancel_requested=True)
    assert attempt.store_events([round_event(0), done_event()]) is True
    assert attempt.follower
    assert (attempt.stop_deadline, attempt.follower.begun) == (None, True)
    attempt.follower.run()
    assert seeds_in("done") == [0, 1]


def round_event(number: int) -> Event:
    return {"event": "round", "round": number, "metrics": {"loss": 1.0, "accuracy": 0.5}, "cohort": [0], "clients": {}}


def done_event() -> Event:
    return {"event": "done", "provenance": {}, "findings": {}, "artifact": ""}


STARTED: Event = {"event": "started", "engine": "cohort", "device": "cpu"}
CONTROL = re.compile("BEGIN|COMMIT|(RELEASE )?SAVEPOINT")


def database_work(work: Callable[[], object]) -> tuple[int, int]:
    """How many transactions and how many statements in them; a statement by itself is a transaction too."""
    with CaptureQueriesContext(connection) as queries:
        work()
    transactions, statements, inside = 0, 0, False
    for query in queries:
        text = query["sql"]
        if text in ("BEGIN", "COMMIT"):
            inside = text == "BEGIN"
            transactions += text == "COMMIT"
        elif not CONTROL.match(text):
            statements += 1
            transactions += not inside
    return transactions, statements


def make_attempt(process: WorkerProcess) -> RunAttempt:
    process.send_heartbeat()
    assert process.worker
    claim = run_claim(worker=process.worker)
    assert claim
    assert not old_rows_left()  # for which a process looks once
    return RunAttempt(process, claim)


def store(attempt: RunAttempt, events: Sequence[Event]) -> tuple[int, int]:
    return database_work(lambda: attempt.store_events(events))


def test_the_database_work_of_a_round_and_of_a_run(study: Study, hire: Hire) -> None:
    """Literal counts: whoever adds a statement to what happens at each round should know that he did."""
    attempt = make_attempt(hire(WAITS))
    one_round, twenty_rounds = [round_event(1)], [round_event(number) for number in range(2, 22)]
    assert store(attempt, [STARTED]) == (1, 1)
    assert store(attempt, one_round) == (1, 4)
    assert store(attempt, twenty_rounds) == (1, 4)
    assert store(attempt, [done_event()]) == (1, 4)


def test_the_database_work_of_a_whole_run_that_was_told_at_once(study: Study, hire: Hire) -> None:
    attempt = make_attempt(hire(WAITS))
    whole = [STARTED, *(round_event(number) for number in range(21)), done_event()]
    assert store(attempt, whole) == (1, 9)
    assert Metric.objects.filter(run=attempt.claim.run).count() == 42


def test_the_database_work_of_claiming_one_run_or_several(study: Study, hire: Hire) -> None:
    process = hire(WAITS)
    process.send_heartbeat()
    worker = process.worker
    assert worker
    assert database_work(lambda: run_claim(worker=worker)) == (2, 8)
    claims: list[Any] = []
    most = {study.pk: 16}
    assert database_work(lambda: claims.extend(runs_claim_ahead(worker=worker, most=most))) == (2, 10)
    assert len(claims) == 4


def test_how_many_runs_are_held_ahead_follows_from_how_long_the_latest_took() -> None:
    pace = StudyPace()
    pace.add(7, 1.0)
    pace.add(8, 0.2)
    pace.add(9, 5.1)
    assert pace.runs_ahead() == {7: 5, 8: 16}
    assert [pace.is_short(study) for study in (7, 9, 10)] == [True, False, False]
    pace.add(8, 2.4)
    assert pace.runs_ahead() == {7: 5, 8: 2}
    for _ in range(5):
        pace.add(8, 0.5)
    assert pace.runs_ahead() == {7: 5, 8: 10}
    for study in range(100, 120):
        pace.add(study, 1.0)
    assert list(pace.runs_ahead()) == list(range(100, 120))
