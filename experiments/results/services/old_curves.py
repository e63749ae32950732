"""Values of earlier versions, a row each, become blocks: run by run in the background, while everything else goes on.

A run is moved in one transaction that holds its row, as its worker's writes do. What stopped goes on with what is left.
"""

from __future__ import annotations

import time

from django.db import OperationalError, connection, transaction
from psycopg2.errors import LockNotAvailable

from experiments.housekeeping.services.attempts import JobAttempt
from experiments.housekeeping.services.jobs import job_add
from experiments.models import Job, JobKind, MetricRow, Run
from experiments.results.services.curves import old_rows_left, rows_move

SUBJECT = "curves"
PATIENCE = "200ms"
"""What a page may wait because the last step waits for a long reader; it is tried again after a pause."""
PAUSE_SECONDS = 5.0
FORGET_ROWS = """
TRUNCATE experiments_metricrow;
CREATE OR REPLACE VIEW experiments_curve AS SELECT run_id, name, block, numbers FROM experiments_curveblock
"""


def move_request() -> Job | None:
    """None where nothing is to be moved, or a job is at it."""
    return job_add(kind=JobKind.CURVES, subject=SUBJECT) if old_rows_left() else None


def curves_work(attempt: JobAttempt) -> str:
    moved = 0
    while old_rows_left():
        last = MetricRow.objects.order_by("-run_id").values_list("run_id", flat=True).first()
        first = run = next_run(after=0)
        while run is not None and first is not None and last is not None:
            run_move(run)
            moved += 1
            attempt.report((run - first + 1) / (max(run, last) - first + 1), f"{moved:,} runs")
            run = next_run(after=run)
        if not forget_rows():
            pause(attempt)
    return f"{moved:,} runs"


def next_run(*, after: int) -> int | None:
    later = MetricRow.objects.filter(run_id__gt=after).order_by("run_id")
    return later.values_list("run_id", flat=True).first()


def run_move(run: int) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # A move that a crash takes back is made again: it need not wait for the disk.
        cursor.execute("SET LOCAL synchronous_commit = off")
        Run.objects.select_for_update(no_key=True).filter(pk=run).first()
        rows_move(runs=[run])


def forget_rows() -> bool:
    """From now on nobody looks for old rows. False where somebody reads for so long that others would wait."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
            cursor.execute("LOCK TABLE experiments_metricrow IN ACCESS EXCLUSIVE MODE")
            if MetricRow.objects.exists():
                return False
            cursor.execute(FORGET_ROWS)
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        return False
    return True


def pause(attempt: JobAttempt) -> None:
    until = time.monotonic() + PAUSE_SECONDS
    while time.monotonic() < until:
        attempt.go_on()
        time.sleep(0.2)
