"""Studies as the pages show them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Count,
    Min,
    Q,
    QuerySet,
)

from experiments.labels.axes import axes_text, dataset_names
from experiments.labels.names import component_label, method_label
from experiments.models import Membership, Run, Study, User
from experiments.results.selectors.runs import specs_of
from experiments.statistics.finals import best_finals, best_of, small_curves
from experiments.statistics.over_seeds import SeedStatistics
from experiments.studies.selectors.progress import Progress, progress_of


def has_own_studies(person: User) -> bool:
    return Study.objects.filter(owner=person).exists()


def texts_version(study: Study) -> str:
    """Another after any change of what people write about a study: two who edit at once must not undo each other."""
    texts = json.dumps([study.name, study.description, study.tags])
    return hashlib.sha256(texts.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class StudyRow:
    """`best` is its best cell, `method` what that cell tries and how its data are spread, and `curve` its accuracy over
    the rounds, in few points.

    A study without a best cell has the curve of the run that is furthest.
    """

    study: Study
    axes: str
    progress: Progress
    best: SeedStatistics | None
    datasets: tuple[str, ...] = ()
    method: str = ""
    curve: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class LabCounts:
    studies: int
    runs: int
    states: Counter[str]
    archived: int = 0


def search_studies(search: str) -> QuerySet[Study]:
    """Every word must occur in the name, description, a tag, the origin, the owner's name or the blocks."""
    studies = Study.objects.all()
    for word in search.split():
        studies = studies.filter(
            Q(name__icontains=word)
            | Q(description__icontains=word)
            | Q(tags__icontains=word)
            | Q(origin__icontains=word)
            | Q(owner__username__icontains=word)
            | Q(blocks__icontains=word)
        )
    return studies


def load_study_rows(
    studies: Sequence[Study],
    *,
    pictures: bool = False,
    finals: Mapping[int, Mapping[str, SeedStatistics]] | None = None,
) -> list[StudyRow]:
    """`pictures` have the curves, and what the best cells try; `finals` are their accuracies, if known already."""
    progress = progress_of(studies)
    best = best_finals(studies=[study.pk for study in studies]) if finals is None else best_of(finals)
    cells = {study: each.cell for study, each in best.items()}
    methods, curves = (methods_of(cells), curves_of(studies, cells)) if pictures else ({}, {})
    return [
        StudyRow(
            each,
            axes_text(each.blocks),
            progress[each.pk],
            best.get(each.pk),
            tuple(dataset_names(each.blocks)),
            methods.get(each.pk, ""),
            tuple(curves.get(each.pk, ())),
        )
        for each in studies
    ]


def methods_of(cells: Mapping[int, str]) -> dict[int, str]:
    """What one cell of each study tries, and on which partition: the best number is mostly that of IID data."""
    runs = Run.objects.filter(cell__in=set(cells.values())).order_by().values_list("cell")
    first = dict(runs.annotate(first=Min("pk")))
    specs = specs_of(list(first.values()))
    labels = {cell: method_and_partition(specs[run].flat) for cell, run in first.items() if run in specs}
    return {study: labels[cell] for study, cell in cells.items() if cell in labels}


def method_and_partition(flat: Mapping[str, Any]) -> str:
    partition = component_label("partition", flat) if flat.get("partition") else ""
    return " · ".join(filter(None, [method_label(flat), partition]))


def curves_of(studies: Sequence[Study], cells: Mapping[int, str]) -> dict[int, list[float | None]]:
    """Of each study's best cell; where there is none yet, of the run that is furthest."""
    others = [study.pk for study in studies if study.pk not in cells]
    furthest = Membership.objects.filter(study_id__in=others, run__rounds_done__gt=0).order_by(
        "study_id", "-run__rounds_done", "run_id"
    )
    at_work = dict(furthest.distinct("study_id").values_list("study_id", "run__cell")) if others else {}
    return small_curves(cells={**cells, **at_work})


def lab_counts() -> LabCounts:
    states = Counter(dict(Run.objects.order_by().values_list("state").annotate(runs=Count("pk"))))
    counts = Study.objects.aggregate(listed=Count("pk", filter=Q(archived=None)), all=Count("pk"))
    return LabCounts(counts["listed"], states.total(), states, counts["all"] - counts["listed"])
