"""A lab of five people with sixty studies of four data sets: what runs, what ended this week, what failed.

The data sets need not be here: each study is launched on digits, and its runs are then told to be of another one.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from experiments.models import Run, RunState, Study, User
from experiments.results.services.curves import insert_from_rows
from experiments.studies.services.changes import study_archive
from experiments.studies.services.launch import study_launch

DATASETS = {"digits": 0.97, "uci-har": 0.95, "mnist": 0.98, "fashion-mnist": 0.87}
"""Each with what the best strategy reaches there."""
PEOPLE = ("mira", "jonas", "ada", "li", "noor")
STRATEGIES: dict[str, list[dict[str, Any]]] = {
    "Proximal term": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.01, 0.1]}],
    "Control variates": [{"name": "fedavg"}, {"name": "scaffold"}],
    "Server optimizers": [{"name": "fedadam"}, {"name": "fedyogi"}, {"name": "fedavgm"}],
    "Normalised averaging": [{"name": "fednova"}, {"name": "fedavg"}],
}
PARTITIONS: list[dict[str, Any]] = [{"name": "iid"}, {"name": "label-dirichlet", "alpha": 0.3}]
ROUNDS = 40
MEMORY = "Out of memory: the model and 40 clients need 9.2 GB, the worker has 8 GB.\nTraceback"

# Towards a level of the run's own: its data set's, less what its strategy, its partition and chance cost it.
ROWS = """
    SELECT r.id, t.round, v.name, v.value
    FROM experiments_run r
    CROSS JOIN generate_series(0, r.rounds_done) AS t(round)
    CROSS JOIN LATERAL (
        SELECT %(top)s - CASE r.spec->'strategy'->>'name'
                WHEN 'scaffold' THEN 0 WHEN 'fedprox' THEN 0.011 WHEN 'fednova' THEN 0.014 WHEN 'fedavg' THEN 0.02
                WHEN 'fedavgm' THEN 0.017 ELSE 0.035 END
            - CASE WHEN r.spec->'partition'->>'name' = 'iid' THEN 0 ELSE 0.06 END
            - ((r.id * 7919) %% 13) / 2000.0 AS top
    ) AS own
    CROSS JOIN LATERAL (VALUES
        ('accuracy', 0.1 + (top - 0.1) * (1 - exp(-t.round / 6.0)) / (1 - exp(-%(rounds)s / 6.0))),
        ('loss', 2.3 * exp(-t.round / 8.0) + 0.1),
        ('bytes_up', CASE WHEN t.round = 0 THEN 0 ELSE 31400 END),
        ('seconds', 0.02)
    ) AS v(name, value)
    WHERE r.id = ANY(%(runs)s)
"""
# A study of another data set than it was launched on, with runs that are its own.
MOVE_RUNS = """
    UPDATE experiments_run SET spec = jsonb_set(spec, '{dataset,name}', to_jsonb(%(dataset)s::text)),
        cell = md5(cell || %(dataset)s), hash = md5(hash || %(dataset)s || id::text), shared = false,
        provenance = jsonb_set(provenance, '{launched_with,data}', to_jsonb(%(dataset)s || '-as-published'))
    WHERE id = ANY(%(runs)s)
"""


def sixty_studies(*, studies: int = 60) -> list[User]:
    """The people. The newest four studies are at work, six have ended badly, three are archived."""
    people = [User.objects.create(username=name, role="member") for name in PEOPLE]
    for number in range(studies):
        add_study(people[number % len(people)], number, newest=number >= studies - 4)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return people


def add_study(owner: User, number: int, *, newest: bool) -> Study:
    dataset = list(DATASETS)[number % len(DATASETS)]
    title = list(STRATEGIES)[number // len(DATASETS) % len(STRATEGIES)]
    block: dict[str, Any] = {
        "dataset": {"name": "digits"},
        "model": {"name": "logistic" if number % 3 else "mlp-50"},
        "strategy": STRATEGIES[title],
        "partition": PARTITIONS,
        "local": {"epochs": 1 + number // 16},
        "evaluation": {"on": "clients" if number % 9 == 4 else "server"},
        "rounds": 2 * ROUNDS if number % 7 == 5 else ROUNDS,
        "seeds": 1 if number % 10 == 6 else 3,
    }
    study = study_launch(
        owner=owner, name=f"{title} on {dataset}, {number + 1}", blocks=[block], requires="gpu", reuse=False
    )
    runs = list(study.runs.order_by("memberships__position").values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(MOVE_RUNS, {"dataset": dataset, "runs": runs})
    ended = timezone.now() - timedelta(hours=7 * (60 - number))
    Study.objects.filter(pk=study.pk).update(
        blocks=[{**block, "dataset": {"name": dataset}}], created=ended - timedelta(hours=1)
    )
    end_runs(runs, ended=ended, at_work=newest)
    with connection.cursor() as cursor:
        cursor.execute(insert_from_rows(ROWS), {"runs": runs, "top": DATASETS[dataset], "rounds": block["rounds"]})
    if number % 10 == 8:
        Run.objects.filter(pk__in=runs[-2:]).update(state=RunState.FAILED, reason=MEMORY)
    if number % 20 == 3:
        study_archive(study=study, actor=owner)
    return study


def end_runs(runs: list[int], *, ended: datetime, at_work: bool) -> None:
    times = {"started": ended - timedelta(minutes=20), "finished": ended}
    Run.objects.filter(pk__in=runs).update(state=RunState.DONE, **times)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE experiments_run SET rounds_done = rounds_total WHERE id = ANY(%s)", [runs])
    if at_work:
        now = timezone.now()
        Run.objects.filter(pk__in=runs[3:]).update(state=RunState.QUEUED, rounds_done=0, started=None, finished=None)
        Run.objects.filter(pk=runs[3]).update(
            state=RunState.RUNNING,
            rounds_done=ROUNDS // 2,
            started=now - timedelta(minutes=3),
            lease_token=uuid.uuid4(),
            lease_until=now + timedelta(days=1),
        )
