"""Runs whose curves still grow, and how far each of them is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from experiments.models import Round, Run
from experiments.statistics.over_seeds import UNENDED, OpenRun


def open_runs(cells: Mapping[str, Sequence[int]]) -> list[OpenRun]:
    """Those of the cells, to be read in one snapshot with the curves.

    None at all where a seed has several runs in a cell that grows: such a mean cannot be gone on with run by run.
    """
    runs = Run.objects.filter(pk__in=[run for runs in cells.values() for run in runs]).order_by("pk")
    rows = list(runs.values_list("pk", "cell", "seed", "state", "rounds_done"))
    unended = [(run, cell, last) for run, cell, _, state, last in rows if state in UNENDED]
    growing = {cell for _, cell, _ in unended}
    if max(Counter((cell, seed) for _, cell, seed, _, _ in rows if cell in growing).values(), default=0) > 1:
        return []
    begun = set(Round.objects.filter(run__in=[run for run, *_ in unended], round=0).values_list("run_id", flat=True))
    return [OpenRun(run, cell, last if last or run in begun else -1) for run, cell, last in unended]
