"""The Compare page: its controls, what each tab shows, and its charts as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from experiments.charts.chart import Drawn
from experiments.charts.smoothing import SMOOTHINGS
from experiments.charts.styles import NONE, uncrowded
from experiments.compare.chart_builders import (
    CHARTS,
    against_field,
    better,
    chosen_pair,
    missing_words,
    spreads,
    table_of,
)
from experiments.compare.charts.curves import X_AXES
from experiments.compare.charts.pivot_table import Entry, PivotTable, caption
from experiments.compare.charts.significance import BetterInfo, PairInfo, friedman_words, p_text, pair_words
from experiments.compare.charts.values import KINDS, compared_axis, sample_text, value_label
from experiments.compare.choices import ALL_BANDS, TABS, Choices, choices_of
from experiments.compare.samples import samples_of
from experiments.compare.selection import Picked, picked
from experiments.compare.selectors.cells import studies_offered, tags_in_use
from experiments.compare.selectors.saved_views import links_for, views_for
from experiments.labels.axes import axis_title, value_text
from experiments.labels.metrics import in_reading_order, metric_label
from experiments.models import Run
from experiments.statistics.over_seeds import metric_names
from experiments.web.requests import person
from workers.spec import flatten


@gzip_page
def compare(request: HttpRequest) -> HttpResponse:
    choices = choices_of(request.GET)
    found = picked(choices)
    context = {
        **page_context(found, choices, request.GET),
        "base": reverse("compare"),
        "offered": studies_offered(search=request.GET.get("q", "").strip()),
        "tags": tags_in_use(),
        "saved": views_for(person=person(request)),
        "links": links_for(person=person(request)),
        "search": request.GET.get("q", ""),
        "may_share": person(request).may_launch,
    }
    return render(request, "pages/compare.html", context)


def page_context(found: Picked, choices: Choices, query: QueryDict) -> dict[str, Any]:
    """What a visitor with a share link sees, too."""
    return {
        "choices": choices,
        "picked": found,
        "title": title_of(found),
        "facts": facts_of(found),
        "query": query.urlencode(),
        **strip_context(found, choices, query),
        **tab_context(found, choices, query),
    }


def title_of(found: Picked) -> str:
    names = [study.name for study in found.studies]
    if not names:
        return "Compare"
    return " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more studies"


def facts_of(found: Picked) -> str:
    """What all cells have in common, in the order in which people say it."""
    if not found.cells:
        return ""
    spec, parts = found.cells[0].spec, ("strategy", "model", "dataset", "partition")
    fixed = [str(spec[part]["name"]) for part in parts if part not in found.axes]
    return " · ".join(fixed)


@gzip_page
def chart(request: HttpRequest, name: str) -> JsonResponse:
    return JsonResponse(drawn(name, request.GET).answer())


def drawn(name: str, query: QueryDict) -> Drawn:
    if name not in CHARTS:
        raise Http404
    choices = choices_of(query)
    return CHARTS[name](picked(choices), choices)


LOOKED_AT = 12
X_WORDS = {"round": "round", "steps": "local steps", "samples": "samples", "bytes": "bytes", "seconds": "seconds"}


def strip_context(found: Picked, choices: Choices, query: QueryDict) -> dict[str, Any]:
    return {
        "tabs": [(name, text, changed(query, tab=name)) for name, text in TABS.items()],
        "metric": metric_label(choices.metric),
        "metrics": [metric_label(name) for name in metrics_of(found, choices)],
        "bands": ALL_BANDS,
        "x_axes": {name: X_WORDS[name] for name in X_AXES},
        "axes": {axis: axis_title(axis) for axis in found.axes},
        "fields": found.fields,
        "against": against_field(found, choices),
        "placing": uncrowded(found.axes, choices.placing, len(found.cells)),
        "none": NONE,
        "value": value_label(metric_label(choices.metric), choices.wanted),
        "compared": compared_axis(found.axes, choices.compared),
        "kinds": KINDS,
        "smoothings": SMOOTHINGS,
        "smooth_text": f"{choices.drawing.smoothing:g}",
        "at_text": ", ".join(map(str, choices.wanted.at)),
    }


def metrics_of(found: Picked, choices: Choices) -> list[str]:
    """Those of one run of each strategy, which may have metrics of its own; the chosen one is always among them."""
    runs = {cell.spec["strategy"]["name"]: cell.runs[0].pk for cell in reversed(found.cells)}
    names = metric_names(runs=list(runs.values())[:LOOKED_AT])
    return in_reading_order(list(dict.fromkeys([*names, choices.metric])))


def changed(query: QueryDict, **changes: str) -> str:
    """The same view with other choices."""
    other = query.copy()
    for name, value in changes.items():
        other[name] = value
    return other.urlencode()


CHOICES = 400
"""Runs offered by name; any other is chosen by its number."""


def tab_context(found: Picked, choices: Choices, query: QueryDict) -> dict[str, Any]:
    if not found.cells or choices.tab == "cost":
        return {}
    if choices.tab == "better":
        return verdicts(found, choices, query)
    return {"overview": overview, "clients": clients, "specs": specs}[choices.tab](found, choices)


def overview(found: Picked, choices: Choices) -> dict[str, Any]:
    table = table_of(found, choices, samples_of(found, choices))
    most = max((entry.sample.n for entry in table.entries), default=0)
    rows = [(words, [entry_context(entry, table, most) for entry in entries]) for words, entries in table.rows]
    words = caption(table) if table.entries else missing_words(choices)
    return {"table": table, "table_rows": rows, "caption": words}


def entry_context(entry: Entry | None, table: PivotTable, most: int) -> dict[str, Any] | None:
    """The caption tells how many seeds there are; a field with fewer says so."""
    if entry is None:
        return None
    sample = entry.sample
    notes = [f"n={sample.n}"] if sample.n < most else []
    notes += [f"{sample.lost} not finite"] if sample.lost else []
    notes += [f"{sample.missed} never"] if sample.missed else []
    return {"text": sample_text(sample, table.label), "standing": entry.standing, "notes": ", ".join(notes)}


def verdicts(found: Picked, choices: Choices, query: QueryDict) -> dict[str, Any]:
    info = better(found, choices)
    pair = chosen_pair(info, choices)
    comparisons = sum(each.ranks is not None for each in info.pairs)
    return {
        "better": info,
        "matrix": [
            (first, [matrix_entry(info, first, second, query) for second in info.methods]) for first in info.methods
        ],
        "pair": pair,
        "pair_words": pair_words(pair, comparisons) if pair else "",
        "pair_facts": pair_facts(pair, info) if pair else {},
        "friedman": friedman_words(info),
    }


def matrix_entry(info: BetterInfo, first: str, second: str, query: QueryDict) -> dict[str, Any] | None:
    counts = info.between(first, second)
    if counts is None:
        return None
    ahead, behind = counts[0] > counts[2], counts[0] < counts[2]
    standing = "ahead" if ahead else "behind" if behind else ""
    ordered = (first, second) if info.pair(first, second) else (second, first)
    return {"counts": counts, "standing": standing, "address": changed(query, first=ordered[0], versus=ordered[1])}


def pair_facts(pair: PairInfo, info: BetterInfo) -> dict[str, str]:
    digits, unit = info.label.digits, info.label.difference_unit
    mean = "–" if pair.mean is None else f"{pair.mean:+.{digits}f} {unit}".strip()
    facts = {"Settings in common": str(len(pair.settings)), "Mean difference of cell means": mean}
    if pair.ranks and pair.corrected is not None:
        facts["Wilcoxon, exact"] = f"p = {p_text(pair.ranks.p)} over {pair.ranks.n} settings that differ"
        facts["after Holm"] = f"p = {p_text(pair.corrected)}"
    return facts


def clients(found: Picked, choices: Choices) -> dict[str, Any]:
    label = metric_label("client_accuracy_mean")
    return {"spreads": spreads(found, choices), "unit": label.unit, "runs": run_choices(found, choices)}


def run_choices(found: Picked, choices: Choices) -> list[tuple[int, str]]:
    places = found.flat_places(choices)
    named = [
        (run.pk, f"{places[cell.key].whole_label} · seed {run.seed} (run {run.pk})")
        for cell in found.cells
        for run in cell.runs
    ]
    return named[:CHOICES]


def specs(found: Picked, choices: Choices) -> dict[str, Any]:
    """Any two runs of the lab; without a choice, the first runs of the first two cells."""
    firsts = [cell.runs[0].pk for cell in found.cells]
    left, right = (asked or firsts[min(place, len(firsts) - 1)] for place, asked in enumerate(choices.diff))
    runs = Run.objects.in_bulk([left, right])
    known = left in runs and right in runs
    diff = spec_diff(runs[left].spec, runs[right].spec) if known else None
    return {"left": left, "right": right, "diff": diff, "runs": run_choices(found, choices)}


MISSING = object()


@dataclass(frozen=True)
class SpecDiff:
    """`different` has path and both values, a dash for a field that one of them lacks; `same` counts the rest."""

    different: tuple[tuple[str, str, str], ...]
    same: int


def spec_diff(first: Mapping[str, Any], second: Mapping[str, Any]) -> SpecDiff:
    one, two = flatten(first), flatten(second)
    paths = list(dict.fromkeys([*one, *two]))
    different = [path for path in paths if one.get(path, MISSING) != two.get(path, MISSING)]
    return SpecDiff(
        tuple((path, worded(one.get(path, MISSING)), worded(two.get(path, MISSING))) for path in different),
        len(paths) - len(different),
    )


def worded(value: Any) -> str:
    return "–" if value is MISSING else value_text(value)
