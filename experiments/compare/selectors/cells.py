"""Which runs are compared: those of studies, of tags, and runs named one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import CharField, F, Func, Min, Q
from django.db.models.functions import Coalesce

from experiments.labels.axes import axes_text
from experiments.models import Membership, RunState, Study
from experiments.results.selectors.runs import RunSpecification, specs_of
from experiments.studies.selectors.studies import search_studies

MOST_OFFERED = 50


class SelectedRun(NamedTuple):
    pk: int
    cell: str
    seed: int
    state: str


@dataclass(frozen=True)
class SelectedCell:
    """Runs that differ only in seed; `source` is the study that a reader knows them by."""

    key: str
    of_run: RunSpecification
    source: str
    runs: tuple[SelectedRun, ...]

    @property
    def spec(self) -> dict[str, Any]:
        return self.of_run.spec

    @property
    def flat(self) -> dict[str, Any]:
        return self.of_run.flat

    @property
    def done(self) -> int:
        return sum(run.state == RunState.DONE for run in self.runs)


def selected_studies(*, studies: Sequence[int], tags: Sequence[str]) -> list[Study]:
    """In the order in which they were made; archived ones only where named."""
    tagged = Q(tags__overlap=list(tags), archived__isnull=True) if tags else Q(pk__in=[])
    return list(Study.objects.filter(Q(pk__in=list(studies)) | tagged).order_by("pk"))


def offered_studies(*, search: str) -> list[tuple[Study, str]]:
    """The newest that match, with their axes in words."""
    studies = search_studies(search).filter(archived__isnull=True).order_by("-pk")[:MOST_OFFERED]
    return [(study, axes_text(study.blocks)) for study in studies]


def selected_cells(*, studies: Sequence[Study], runs: Sequence[int]) -> list[SelectedCell]:
    """In the order of the studies and their grids; a run that several of them hold counts once."""
    runs_by_cell: dict[str, list[SelectedRun]] = {}
    sources: dict[str, int] = {}
    for pk, cell, seed, state, source, _ in member_rows([study.pk for study in studies], runs):
        runs_by_cell.setdefault(cell, []).append(SelectedRun(pk, cell, seed, state))
        sources.setdefault(cell, source)
    specs = specs_of([cell_runs[0].pk for cell_runs in runs_by_cell.values()])
    names = source_names(set(sources.values()))
    return [
        SelectedCell(key, specs[cell_runs[0].pk], names[sources[key]], tuple(cell_runs))
        for key, cell_runs in runs_by_cell.items()
        if cell_runs[0].pk in specs and sources[key] in names  # not deleted meanwhile
    ]


def member_rows(studies: Sequence[int], runs: Sequence[int]) -> list[Any]:
    """Run, cell, seed, state, the study that it is known by, and its place there."""
    within = Q(study_id__in=list(studies))
    members = Membership.objects.filter(within | Q(run_id__in=list(runs))).order_by()
    grouped = members.values_list("run_id", "run__cell", "run__seed", "run__state").annotate(
        source=Coalesce(Min("study_id", filter=within), Min("study_id")), place=Min("position")
    )
    return list(grouped.order_by("source", "place", "run_id"))


def source_names(studies: set[int]) -> dict[int, str]:
    """Studies by name; those of one name are told apart by their number."""
    names = dict(Study.objects.filter(pk__in=studies).values_list("pk", "name"))
    doubled = {name for name, times in Counter(names.values()).items() if times > 1}
    return {pk: f"{name} (study {pk})" if name in doubled else name for pk, name in names.items()}


def tags_in_use() -> list[str]:
    tags = Func(F("tags"), function="unnest", output_field=CharField())
    studies = Study.objects.filter(archived__isnull=True).order_by().annotate(tag=tags)
    return sorted(studies.values_list("tag", flat=True).distinct())
