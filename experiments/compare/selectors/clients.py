"""What single clients reached, and which classes models took for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from experiments.models import Run, RunState

# The round is found through the metric that exists exactly where clients were evaluated: a look into the rounds' JSON
# from the end would read all of it for runs that have none. -1 is the shared client of hybrid sharing.
LAST_EVALUATED = """
    SELECT r.id, array_agg((each.value ->> 'accuracy')::float8 ORDER BY each.key::int)
    FROM unnest(%(runs)s::bigint[]) AS r(id)
    CROSS JOIN LATERAL (
        SELECT array_upper(c.numbers, 1) AS round FROM experiments_curve c
        WHERE c.run_id = r.id AND c.name = 'client_accuracy_mean' ORDER BY c.block DESC, 1 DESC LIMIT 1
    ) last
    JOIN experiments_round d ON d.run_id = r.id AND d.round = last.round
    CROSS JOIN LATERAL jsonb_each(d.clients) AS each
    WHERE each.value ? 'accuracy' AND each.key <> '-1'
    GROUP BY r.id
"""


def client_accuracies(*, runs: Sequence[int]) -> dict[int, list[float]]:
    """Each run's clients at its last evaluated round, in the clients' order."""
    with connection.cursor() as cursor:
        cursor.execute(LAST_EVALUATED, {"runs": list(runs)})
        return dict(cursor.fetchall())


def confusion_matrices(*, runs: Sequence[int]) -> dict[int, list[list[float]]]:
    """The confusion matrix of each finished run that has one: a row for each true class."""
    finished_runs = Run.objects.filter(pk__in=list(runs), state=RunState.DONE, findings__has_key="confusion")
    matrices: list[tuple[int, Any]] = list(finished_runs.order_by("pk").values_list("pk", "findings__confusion"))
    return dict(matrices)
