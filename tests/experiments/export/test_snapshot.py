"""An export tells of one moment, while others write."""

from collections.abc import Callable
from threading import Thread

import pytest
from django.db import connection

from experiments.export.exporter import ExportRequest, export_parts
from experiments.export.reading import PieceBuffer
from experiments.models import Run, User
from tests.experiments.lab import launched, record, runs_in_order
from workers.errors import TributaryError

pytestmark = pytest.mark.django_db(transaction=True)


def elsewhere(work: Callable[[], object]) -> None:
    """On another connection, as a worker does."""

    def run() -> None:
        work()
        connection.close()

    thread = Thread(target=run)
    thread.start()
    thread.join()


def test_what_is_committed_meanwhile_is_left_out(owner: User, redis_url: str) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[1, 2])
    first, second = runs_in_order(study)
    record(first, {"loss": [2.0, 1.0]})
    parts = export_parts(ExportRequest(format="ndjson", filters={"study": [str(study.pk)]}, metrics=["loss"]))
    before = next(parts)
    elsewhere(lambda: record(second, {"loss": [9.0, 9.0]}))
    assert b"".join([before, *parts]).count(b"\n") == 2


def test_runs_deleted_meanwhile_are_still_told(owner: User, redis_url: str) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[1, 2])
    for run in runs_in_order(study):
        record(run, {"loss": [2.0, 1.0]})
    parts = export_parts(ExportRequest(filters={"study": [str(study.pk)]}))
    header = next(parts)
    elsewhere(lambda: (study.delete(), Run.objects.all().delete()))
    assert header.startswith(b'"run"')
    assert b"".join(parts).count(b"\n") == 4


def test_a_reader_that_leaves_ends_the_transaction(owner: User, redis_url: str) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[1])
    record(runs_in_order(study)[0], {"loss": [2.0, 1.0]})
    parts = export_parts(ExportRequest(format="ndjson"))
    next(parts)
    assert connection.in_atomic_block
    parts.close()
    assert not connection.in_atomic_block


def test_a_reader_that_stalls_is_given_up(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.export.reading.STALLED_SECONDS", 0.0)
    connection.ensure_connection()
    pieces = PieceBuffer(1, connection.connection.cancel)
    rows = "SELECT i FROM generate_series(1, 3) AS i"
    with connection.cursor() as cursor, pytest.raises(TributaryError, match="nothing of it was read for 0 s"):
        pieces.fill(cursor, f"COPY ({rows}) TO STDOUT (FORMAT binary)")
    assert pieces.ready.get() == [[b"\x00\x00\x00\x01"]]
