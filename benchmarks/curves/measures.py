"""Writes the same rounds into rows and into blocks, by turns, and reads the same curves out of both."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from benchmarks.compare.lab import BLOCK
from benchmarks.curves import rows
from benchmarks.load.lab import METRICS
from experiments.compare.selectors.values import best_values, final_values, total_values
from experiments.models import Run, User
from experiments.queue.services import leases
from experiments.queue.services.claim import run_claim
from experiments.queue.services.leases import Claim, rounds_record, run_finish
from experiments.queue.services.workers import worker_enlist
from experiments.results.services.curves import curves_record, insert_from_rows
from experiments.statistics import curves
from experiments.statistics.curves import curve_statistics, read_values, runs_by_cell
from experiments.studies.services.launch import study_launch
from workers.engine.records import RoundRecord

TOGETHER = {"a round a transaction": 1, "twelve rounds a transaction": 12}
"""A worker writes four times a second what is ready: twelve are those of a run with fifty rounds a second."""
AT_WORK, CELLS = 8, 400
TABLES = {"rows": "experiments_metricrow", "blocks": "experiments_curveblock"}
WRITERS: dict[str, Callable[..., None]] = {"rows": rows.rows_record, "blocks": curves_record}
SIZE = "SELECT pg_total_relation_size(%s::regclass)"
# As rows come in a lab that has worked for long: of runs that were at work together, round after round.
FILL_ROWS = """
    INSERT INTO experiments_metricrow (run_id, round, name, value)
    SELECT r.id, t.round, name, CASE WHEN name LIKE 'bytes%%' THEN 31400.0 * (t.round > 0)::int ELSE random() END
    FROM experiments_run r, generate_series(0, %(rounds)s) AS t(round), unnest(%(names)s) AS name
    WHERE r.id = ANY(%(runs)s) ORDER BY r.id / 8, t.round, r.id
"""
READ_METRICS = ["accuracy", "loss", "bytes_up", "bytes_down", "seconds"]


@dataclass(frozen=True)
class Size:
    runs: int = 2_000
    rounds: int = 200
    writing_runs: int = 8
    passes: int = 3
    repeats: int = 5


QUICK = Size(runs=400, rounds=20, writing_runs=8, passes=1, repeats=1)


@dataclass
class Turns:
    """Seconds of each pass, by what was measured and by how curves are kept."""

    seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def time(self, what: str, kind: str, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        result = work()
        self.seconds.setdefault(what, {}).setdefault(kind, []).append(time.perf_counter() - begun)
        return result

    def medians(self) -> dict[str, dict[str, float]]:
        return {
            what: {kind: statistics.median(each) for kind, each in kinds.items()}
            for what, kinds in self.seconds.items()
        }


def measure_writing(owner: User, size: Size) -> dict[str, Any]:
    """By the platform's own services: leases, fences and notifications are in the time of both."""
    turns, written = Turns(), dict.fromkeys(TABLES, 0)
    worker = worker_enlist(name="bench", host="bench", device="cpu", threads=1)
    needed = size.writing_runs * size.passes * len(TOGETHER) * len(TABLES)
    single = {**BLOCK, "strategy": {"name": "fedavg"}, "partition": {"name": "iid"}, "rounds": size.rounds}
    single |= {"hybrid": {"method": "share-disjoint", "ratio": 0.0}, "clients": 10, "seeds": needed}
    study_launch(owner=owner, name="Written", blocks=[single])
    for _ in range(size.passes):
        for what, together in TOGETHER.items():
            for kind in TABLES:
                claims = [run_claim(worker=worker) for _ in range(size.writing_runs)]
                turns.time(what, kind, lambda: write_runs(kind, claims, size.rounds, together))  # noqa: B023
                written[kind] += size.writing_runs * (size.rounds + 1) * len(METRICS)
                for claim in claims:
                    run_finish(claim=claim, provenance={}, findings={}, artifact="")
    values = size.writing_runs * (size.rounds + 1) * len(METRICS)
    speeds = {
        what: {kind: values / seconds for kind, seconds in kinds.items()} for what, kinds in turns.medians().items()
    }
    return {"values": written, "bytes": {kind: table_bytes(kind) / written[kind] for kind in TABLES}, "speeds": speeds}


def write_runs(kind: str, claims: Sequence[Claim], rounds: int, together: int) -> None:
    """Some runs at once, transaction after transaction."""
    leases.curves_record = WRITERS[kind]
    try:
        for start in range(0, len(claims), AT_WORK):
            for first in range(0, rounds + 1, together):
                numbers = range(first, min(first + together, rounds + 1))
                for claim in claims[start : start + AT_WORK]:
                    rounds_record(claim=claim, records=[RoundRecord(each, made_up(each)) for each in numbers])
    finally:
        leases.curves_record = curves_record


def made_up(number: int) -> dict[str, float]:
    return {name: 31400.0 * (number > 0) if name.startswith("bytes") else random.random() for name in METRICS}


def table_bytes(kind: str) -> int:
    """With indexes."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM " + TABLES[kind])
        cursor.execute(SIZE, [TABLES[kind]])
        return int(cursor.fetchone()[0])


def measure_reading(owner: User, size: Size) -> dict[str, Any]:
    """What Compare asks the database for; both must answer with the same numbers."""
    block = {**BLOCK, "rounds": size.rounds, "seeds": size.runs // CELLS}
    study = study_launch(owner=owner, name="Read", blocks=[block], requires="gpu")
    runs = list(study.runs.order_by("pk").values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(FILL_ROWS, {"runs": runs, "rounds": size.rounds, "names": READ_METRICS})
        copied = "SELECT run_id, round, name, value FROM experiments_metricrow WHERE run_id = ANY(%s)"
        cursor.execute(insert_from_rows(copied), [runs])
        cursor.execute("VACUUM ANALYZE")
    Run.objects.filter(pk__in=runs).update(state="done", rounds_done=size.rounds)
    cells = runs_by_cell(studies=[study.pk], cells=sorted(study.runs.values_list("cell", flat=True).distinct()))
    turns, spent = Turns(), ["bytes_up", "bytes_down"]
    for _ in range(size.repeats):
        for what, before, now in (
            (
                "curves of all cells",
                lambda: statistics_by(rows.read_rows, cells),
                lambda: statistics_by(read_values, cells),
            ),
            (
                "curves over bytes",
                lambda: statistics_by(rows.read_rows, cells, spent),
                lambda: statistics_by(read_values, cells, spent),
            ),
            (
                "last values",
                lambda: rows.final_rows(runs, "accuracy"),
                lambda: final_values(runs=runs, metric="accuracy"),
            ),
            (
                "best values",
                lambda: rows.best_rows(runs, "accuracy"),
                lambda: best_values(runs=runs, metric="accuracy", higher=True),
            ),
            ("bytes in all", lambda: rows.row_totals(runs, spent), lambda: total_values(runs=runs, spent=spent)),
        ):
            old, new = turns.time(what, "rows", before), turns.time(what, "blocks", now)
            if sorted(map(repr, old)) != sorted(map(repr, new)):
                raise SystemExit(f"{what}: blocks give other numbers than rows.")
    return {"runs": len(runs), "rounds": size.rounds, "seconds": turns.medians()}


def statistics_by(read: Any, cells: Any, spent: Sequence[str] = ()) -> list[Any]:
    curves.read_values = read
    try:
        return list(curve_statistics(cells=cells, metric="accuracy", spent=spent))
    finally:
        curves.read_values = read_values
