"""Pins and baselines as pages and REST read them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Min, Q, QuerySet

from experiments.labels.names import component_label, method_label
from experiments.models import Baseline, Pin, Run, Study, User
from experiments.results.selectors.runs import specs_of
from experiments.statistics.finals import final_statistics
from experiments.statistics.over_seeds import SeedStatistics


@dataclass(frozen=True)
class BaselineRow:
    """A starred cell, what it tries, and its last accuracy over seeds; None where no run of it is done."""

    baseline: Baseline
    label: str
    statistics: SeedStatistics | None


def pins_of(*, person: User) -> QuerySet[Pin]:
    """One's own and those for all, the latest first."""
    return Pin.objects.filter(Q(person=person) | Q(person=None)).select_related("study__owner").order_by("-pk")


def pinned_studies(*, person: User) -> list[Study]:
    """Each once; archived ones are put away."""
    studies = {pin.study_id: pin.study for pin in pins_of(person=person) if pin.study.archived is None}
    return list(studies.values())


def has_pins(person: User, study: Study | None = None) -> bool:
    """Of their own; any, or that study."""
    pins = Pin.objects.filter(person=person)
    return (pins.filter(study=study) if study else pins).exists()


def baselines_of(*, study: int) -> dict[str, Baseline]:
    """By cell."""
    return {each.cell: each for each in Baseline.objects.filter(study=study)}


def baseline_rows(baselines: QuerySet[Baseline]) -> list[BaselineRow]:
    rows = list(baselines.select_related("study__owner", "starred_by"))
    finals = final_statistics(studies=sorted({each.study_id for each in rows}), metric="accuracy") if rows else {}
    labels = cell_labels({each.cell for each in rows})
    return [
        BaselineRow(each, labels.get(each.cell, "a cell that is gone"), finals[each.study_id].get(each.cell))
        for each in rows
    ]


def cell_labels(cells: set[str]) -> dict[str, str]:
    """What each cell tries, on what: its method, data set and partition."""
    first = dict(Run.objects.filter(cell__in=cells).order_by().values_list("cell").annotate(first=Min("pk")))
    specs = specs_of(list(first.values()))
    flat = {cell: specs[run].flat for cell, run in first.items() if run in specs}
    return {
        cell: " · ".join([method_label(row), *(component_label(part, row) for part in PARTS if part in row)])
        for cell, row in flat.items()
    }


PARTS = ("dataset", "partition")
