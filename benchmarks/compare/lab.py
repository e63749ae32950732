"""A lab with 2,000 finished runs of 100 rounds and 5 metrics, run after run."""

from __future__ import annotations

from typing import Any

from django.db import connection

from experiments.models import Run, Study, User
from experiments.results.services.curves import insert_from_rows
from experiments.studies.services.launch import study_launch

METRICS = ("accuracy", "loss", "bytes_up", "bytes_down", "seconds")
BLOCK: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "model": {"name": "logistic"},
    "strategy": [
        {"name": "fedavg"},
        {"name": "fedprox", "mu": [0.001, 0.01, 0.1]},
        {"name": "scaffold"},
        {"name": "fednova"},
        {"name": "fedadam"},
        {"name": "fedyogi"},
    ],
    "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 0.3, 0.5, 1.0]}],
    "hybrid": {"method": "share-disjoint", "ratio": [0.0, 0.1, 0.2, 0.5, 1.0]},
    "clients": [10, 20],
    "rounds": 100,
    "seeds": 5,
}
# A curve that rises towards a level of its own, with noise; bytes and seconds as real runs have them.
ROWS = """
    SELECT r.id, t.round, v.name, v.value
    FROM experiments_run r
    CROSS JOIN generate_series(0, 100) AS t(round)
    CROSS JOIN LATERAL (SELECT 0.6 + 0.35 * ((r.id / 5 * 37) %% 97) / 97.0 AS top, random() AS noise) AS own
    CROSS JOIN LATERAL (VALUES
        ('accuracy', top * (1 - exp(-t.round / 15.0)) + 0.02 * noise),
        ('loss', 2.3 * exp(-t.round / 20.0) + 0.1 * noise),
        ('bytes_up', CASE WHEN t.round = 0 THEN 0 ELSE 31400 END),
        ('bytes_down', CASE WHEN t.round = 0 THEN 0 ELSE 31400 END),
        ('seconds', 0.02 + 0.01 * noise)
    ) AS v(name, value)
    WHERE r.id = ANY(%s)
"""


def big_study(owner: User) -> Study:
    """8 strategies x 5 partitions x 5 hybrid ratios x 2 sizes x 5 seeds."""
    study = study_launch(owner=owner, name="Two thousand runs", blocks=[BLOCK], requires="gpu")
    finish_runs(study)
    return study


def small_study(owner: User) -> Study:
    """200 runs in 40 cells: as many lines as a chart takes."""
    block = {**BLOCK, "hybrid": {"method": "share-disjoint", "ratio": 0.0}, "clients": 15}
    study = study_launch(owner=owner, name="Two hundred runs", blocks=[block], requires="gpu")
    finish_runs(study)
    return study


def wide_study(owner: User) -> Study:
    """10,000 runs in 400 cells; what they measured plays no part in a table of runs."""
    study = study_launch(owner=owner, name="Ten thousand runs", blocks=[{**BLOCK, "seeds": 25}], requires="gpu")
    Run.objects.filter(studies=study).update(state="done", rounds_done=100)
    return study


def finish_runs(study: Study) -> None:
    runs = list(study.runs.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(insert_from_rows(ROWS), [runs])
        cursor.execute("VACUUM ANALYZE")
    Run.objects.filter(pk__in=runs).update(state="done", rounds_done=100)
