"""Specs of runs, kept in memory: they never change, and one page asks for the same hundreds with each of its charts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from experiments.models import Run
from workers.spec import flatten

MOST = 10_000
"""So many are kept, some 100 MB; then it begins anew."""
known: dict[int, RunSpecification] = {}


class RunSpecification:
    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec

    @cached_property
    def flat(self) -> dict[str, Any]:
        return flatten(self.spec)


def specs_of(runs: Iterable[int]) -> dict[int, RunSpecification]:
    """By run; those that are not there any more are missing."""
    found = {run: known[run] for run in runs if run in known}
    missing = [run for run in runs if run not in found]
    fresh = dict(Run.objects.filter(pk__in=missing).values_list("pk", "spec")) if missing else {}
    made = {run: RunSpecification(spec) for run, spec in fresh.items()}
    if len(known) + len(made) > MOST:
        known.clear()
    known.update(made)
    return found | made
