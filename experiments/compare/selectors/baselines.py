"""Starred cells, as comparisons take them."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.bookmarks.selectors import cell_labels
from experiments.compare.selectors.cells import SelectedRun
from experiments.models import Baseline, Membership
from experiments.results.selectors.runs import specs_of


@dataclass(frozen=True)
class BaselineCell:
    label: str
    dataset: str
    study: int
    runs: dict[int, SelectedRun]


def offered_baselines() -> dict[int, str]:
    """By number: what each cell tries, and in which study."""
    rows = list(Baseline.objects.select_related("study").order_by("pk"))
    labels = cell_labels({each.cell for each in rows})
    return {each.pk: f"{labels[each.cell]} ({each.study.name})" for each in rows if each.cell in labels}


def baseline_cell(number: int) -> BaselineCell | None:
    """Its runs in the study that it was starred in; None where there is no such star any more."""
    baseline = Baseline.objects.filter(pk=number).first() if number else None
    if baseline is None:
        return None
    members = Membership.objects.filter(study=baseline.study_id, run__cell=baseline.cell).order_by("run_id")
    rows = members.values_list("run_id", "run__cell", "run__seed", "run__state")
    runs = {pk: SelectedRun(pk, cell, seed, state) for pk, cell, seed, state in rows}
    label = cell_labels({baseline.cell}).get(baseline.cell)
    spec = next(iter(specs_of(list(runs)[:1]).values()), None)
    return BaselineCell(label, str(spec.flat.get("dataset", "")), baseline.study_id, runs) if label and spec else None
