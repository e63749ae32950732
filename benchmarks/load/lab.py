"""A lab as it is after some years, filled by SQL: one large study, a thousand small ones, 15 metrics a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from experiments.models import Run, Study, User
from experiments.results.services.curves import insert_from_rows
from experiments.studies.services.launch import study_launch

METRICS = (
    *("accuracy", "loss", "f1", "train_loss", "client_accuracy_mean", "client_accuracy_std", "client_accuracy_worst10"),
    *("bytes_up", "bytes_down", "bytes_peer"),
    *("seconds", "seconds_train", "seconds_aggregate", "seconds_evaluate", "seconds_cpu"),
)
PEOPLE = 20
RUNS_OF_A_SMALL_STUDY = 6
BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.001, 0.01, 0.1]}, {"name": "scaffold"}],
    "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 0.3, 0.5, 1.0]}],
}
CELLS = 25
# Runs of one cell rise to the same level, with noise of their own.
ROWS = """
    SELECT r.id, t.round, m.name, CASE
        WHEN m.name LIKE 'bytes%%' THEN 31400.0 * (t.round > 0)::int
        WHEN m.name LIKE 'seconds%%' THEN 0.02 + 0.01 * random()
        WHEN m.name LIKE '%%loss' THEN 2.3 * exp(-t.round / 20.0) + 0.1 * random()
        ELSE least(1, (0.6 + 0.35 * (hashtext(r.cell) & 63) / 63.0) * (1 - exp(-t.round / 15.0)) + 0.02 * random())
    END
    FROM experiments_run r
    CROSS JOIN generate_series(0, %(rounds)s) AS t(round)
    CROSS JOIN unnest(%(metrics)s) AS m(name)
    WHERE r.id BETWEEN %(first)s AND %(last)s
"""
DONE = """
    UPDATE experiments_run SET state = 'done', rounds_done = rounds_total,
        started = now() - (1000000 - id) * interval '1 second', finished = now() - (999900 - id) * interval '1 second'
    WHERE state = 'queued'
"""
BYTES = "SELECT pg_total_relation_size('experiments_curveblock')"


@dataclass(frozen=True)
class Size:
    runs: int = 10_000
    rounds: int = 200
    studies: int = 1_000
    seconds: float = 300.0
    workers: int = 8
    rounds_per_second: float = 50.0
    """Of each worker."""

    @property
    def values(self) -> int:
        return (self.runs + self.small_studies * RUNS_OF_A_SMALL_STUDY) * (self.rounds + 1) * len(METRICS)

    @property
    def small_studies(self) -> int:
        return self.studies - 1


QUICK = Size(runs=50, rounds=10, studies=6, seconds=4.0, workers=2)


def fill_lab(size: Size) -> tuple[list[User], Study]:
    """The people of the lab, and the large study."""
    people = [User.objects.create(username=f"person-{number:02}") for number in range(PEOPLE)]
    block = {**BLOCK, "rounds": size.rounds, "seeds": max(1, size.runs // CELLS)}
    large = study_launch(owner=people[0], name="The large study", blocks=[block], requires="gpu")
    for number in range(size.small_studies):
        small = {
            **BLOCK,
            "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.01}],
            "partition": {"name": "iid"},
            "rounds": size.rounds,
            "seeds": [number * 3 + 1_000_000 + each for each in range(3)],
        }
        owner = people[number % PEOPLE]
        study_launch(owner=owner, name=f"Study {number}", blocks=[small], tags=[f"t{number % 7}"], requires="gpu")
    fill_curves(size)
    return people, large


def fill_curves(size: Size) -> None:
    runs = list(Run.objects.order_by("pk").values_list("pk", flat=True))
    with connection.cursor() as cursor:
        for start in range(0, len(runs), 1_000):
            part = runs[start : start + 1_000]
            scope = {"first": part[0], "last": part[-1], "rounds": size.rounds, "metrics": list(METRICS)}
            cursor.execute(insert_from_rows(ROWS), scope)
            print(f"\r{start + len(part):,} of {len(runs):,} runs filled", end="", flush=True)
        cursor.execute(DONE)
        cursor.execute("VACUUM ANALYZE")
    print()


def bytes_a_value(values: int) -> float:
    """With indexes, of all curves, which have so many."""
    with connection.cursor() as cursor:
        cursor.execute(BYTES)
        return float(cursor.fetchone()[0] / values)
