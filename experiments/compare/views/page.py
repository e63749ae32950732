"""The Compare page: its controls, what each tab shows, and its charts as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from experiments.charts.chart import Chart
from experiments.charts.curves import seed_range
from experiments.charts.smoothing import SMOOTHINGS, LineOptions
from experiments.charts.styles import NO_AXIS, add_panels, colour_axis
from experiments.compare.chart_builders import (
    CHART_BUILDERS,
    against_field,
    chosen_pair,
    client_spreads,
    no_values_text,
    selection_significance,
    selection_table,
)
from experiments.compare.charts.curves import X_AXES
from experiments.compare.charts.pivot_table import PivotEntry, PivotTable, pivot_caption
from experiments.compare.charts.significance import (
    PairInfo,
    SignificanceInfo,
    friedman_words,
    lost_words,
    p_text,
    pair_words,
    signed_text,
)
from experiments.compare.charts.values import (
    FEWEST_SEEDS,
    VALUE_KINDS,
    compared_axis,
    lost_text,
    sample_text,
    value_label,
)
from experiments.compare.choices import ALL_BANDS, TABS, Choices
from experiments.compare.samples import samples_of
from experiments.compare.selection import Selection, requested_selection
from experiments.compare.selectors.cells import offered_studies, tags_in_use
from experiments.compare.selectors.clients import client_accuracies
from experiments.compare.selectors.saved_views import links_for, views_for
from experiments.core.shared_computation import compute_once
from experiments.labels.axes import NOT_THERE, axis_plural, main_parts
from experiments.labels.metrics import metric_label, sort_metric_names
from experiments.labels.names import axis_title
from experiments.labels.specs import spec_diff
from experiments.models import Run
from experiments.web.requests import current_user


@gzip_page
def compare(request: HttpRequest) -> HttpResponse:
    """What does not depend on who asks is made once for all who ask for it at the same moment."""
    query = request.GET
    shared = compute_once(("compare", query.urlencode()), lambda: page_context(*requested_selection(query), query))
    context = {
        **shared,
        "base": reverse("compare"),
        "offered": offered_studies(search=request.GET.get("q", "").strip()),
        "tags": tags_in_use(),
        "saved": views_for(person=current_user(request)),
        "links": links_for(person=current_user(request)),
        "search": request.GET.get("q", ""),
        "may_share": current_user(request).may_launch,
    }
    return render(request, "pages/compare.html", context)


def page_context(selection: Selection, choices: Choices, query: QueryDict) -> dict[str, Any]:
    """What a visitor with a share link sees, too."""
    return {
        "choices": choices,
        "selection": selection,
        "title": page_title(selection),
        "facts": common_facts(selection),
        "varying": varying_facts(selection),
        "query": query.urlencode(),
        **controls_context(selection, choices, query),
        **tab_context(selection, choices, query),
    }


def page_title(selection: Selection) -> str:
    names = [study.name for study in selection.studies]
    if not names:
        return "Compare"
    return " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more studies"


def common_facts(selection: Selection) -> str:
    """What all cells have in common, in the order in which people say it."""
    if not selection.cells:
        return ""
    parts = [main_parts(cell.flat) for cell in selection.cells]
    return " · ".join(name for part, name in parts[0].items() if all(each.get(part) == name for each in parts))


def varying_facts(selection: Selection) -> str:
    """What varies, each axis with its values or how many there are; and what only follows from the data set."""
    axes = [axis_fact(axis, words) for axis, words in selection.axes.items()]
    everywhere = {axis: words for axis, words in selection.decided.items() if NOT_THERE not in words.values()}
    decided = [axis_fact(axis, words) for axis, words in everywhere.items()]
    with_data = f"with the {'data set' if 'dataset' in selection.axes else 'app'} also {', '.join(decided)}"
    return " · ".join([*axes, *([with_data] if decided else [])])


FEW_VALUES = 3


def axis_fact(axis: str, words: Mapping[str, str]) -> str:
    """Of an axis that some cells do not have, such as runs of scripts, the values of the others."""
    values = [value for value in dict.fromkeys(words.values()) if value != NOT_THERE]
    return " and ".join(values) if len(values) <= FEW_VALUES else f"{len(values)} {axis_plural(axis)}"


@gzip_page
def chart_json(request: HttpRequest, name: str) -> JsonResponse:
    return JsonResponse(requested_chart(name, request.GET).answer())


def requested_chart(name: str, query: QueryDict) -> Chart:
    if name not in CHART_BUILDERS:
        raise Http404
    return CHART_BUILDERS[name](*requested_selection(query))


X_WORDS = {
    "round": "round",
    "steps": "local steps",
    "samples": "samples",
    "bytes": "bytes",
    "seconds": "seconds",
    "cpu": "CPU seconds",
    "epsilon": "epsilon",
}
NOT_OF_EVERY_RUN = ("cpu", "epsilon")


def controls_context(selection: Selection, choices: Choices, query: QueryDict) -> dict[str, Any]:
    return {
        "tabs": [(name, text, changed_query(query, tab=name)) for name, text in TABS.items()],
        "metric": metric_label(choices.metric),
        "metrics": [metric_label(name) for name in metric_choices(selection, choices)],
        "bands": ALL_BANDS,
        "x_axes": {name: X_WORDS[name] for name in X_AXES if is_measured(name, selection)},
        "cpu_time": has_cpu_time(selection),
        "axes": {axis: axis_title(axis) for axis in selection.axes},
        "fields": selection.fields,
        "against": against_field(selection, choices),
        "style_axes": add_panels(selection.axes, choices.style_axes, len(selection.cells)),
        "colour_axis": colour_axis(selection.axes),
        "colour_title": axis_title(colour_axis(selection.axes)),
        "more_look": has_unusual_look(choices),
        "none": NO_AXIS,
        "value": value_label(metric_label(choices.metric), choices.value),
        "compared": compared_axis(selection.axes, choices.compared),
        "kinds": {kind: text for kind, text in VALUE_KINDS.items() if kind != "cpu" or has_cpu_time(selection)},
        "smoothings": SMOOTHINGS,
        "smooth_text": f"{choices.line_options.smoothing:g}",
        "at_text": ", ".join(map(str, choices.value.at)),
    }


def has_unusual_look(choices: Choices) -> bool:
    """Whether something is chosen of what is folded away while it is as always."""
    style, options = choices.style_axes, choices.line_options
    return bool(style.row or style.dash or choices.band != "std" or options != LineOptions())


def has_cpu_time(selection: Selection) -> bool:
    """Runs of before it was measured have none."""
    return is_measured("cpu", selection)


def is_measured(axis: str, selection: Selection) -> bool:
    """Whether some run has that x axis."""
    return axis not in NOT_OF_EVERY_RUN or X_AXES[axis].spent[0] in selection.metrics


def metric_choices(selection: Selection, choices: Choices) -> list[str]:
    """Those that there are, and the chosen one always."""
    return sort_metric_names(list(dict.fromkeys([*selection.metrics, choices.metric])))


def changed_query(query: QueryDict, **changes: str) -> str:
    """The same view with other choices."""
    other = query.copy()
    for name, value in changes.items():
        other[name] = value
    return other.urlencode()


MOST_RUN_CHOICES = 400
"""Runs offered by name; any other is chosen by its number."""


def tab_context(selection: Selection, choices: Choices, query: QueryDict) -> dict[str, Any]:
    if not selection.cells or choices.tab == "cost":
        return {}
    if choices.tab == "better":
        return significance_context(selection, choices, query)
    contexts = {"overview": overview_context, "clients": clients_context, "specs": specs_context}
    return contexts[choices.tab](selection, choices)


def overview_context(selection: Selection, choices: Choices) -> dict[str, Any]:
    table = selection_table(selection, choices, samples_of(selection, choices))
    most = max((entry.sample.n for entry in table.entries), default=0)
    rows = [(words, [entry_context(entry, table, most) for entry in entries]) for words, entries in table.rows]
    words = pivot_caption(table) if table.entries else no_values_text(choices)
    return {"table": table, "table_rows": rows, "caption": words}


def entry_context(entry: PivotEntry | None, table: PivotTable, most: int) -> dict[str, Any] | None:
    """The caption tells how many seeds there are; a field with fewer says so."""
    if entry is None:
        return None
    sample = entry.sample
    notes = [f"n={sample.n}" if sample.n < most else "", lost_text(sample.lost, sample.missed)]
    return {
        "text": sample_text(sample, table.label),
        "standing": entry.standing,
        "notes": ", ".join(filter(None, notes)),
    }


def significance_context(selection: Selection, choices: Choices, query: QueryDict) -> dict[str, Any]:
    info = selection_significance(selection, choices)
    pair = chosen_pair(info, selection, choices)
    comparisons = sum(each.ranks is not None for each in info.pairs)
    return {
        "better": info,
        "matrix": [
            (first, [matrix_entry(info, selection, first, second, query) for second in info.methods])
            for first in info.methods
        ],
        "pair": pair,
        "pair_words": pair_words(pair, comparisons) if pair else "",
        "pair_facts": pair_facts(pair, info) if pair else {},
        "friedman": friedman_words(info),
    }


def matrix_entry(
    info: SignificanceInfo, selection: Selection, first: str, second: str, query: QueryDict
) -> dict[str, Any] | None:
    """Coloured only what was shown."""
    counts = info.between(first, second)
    pair = info.pair(first, second) or info.pair(second, first)
    if counts is None or pair is None:
        return None
    untold = pair.unknown + pair.undecided
    shown = pair.better_shown if pair.first == first else -pair.better_shown
    standing = {1: "ahead", 0: "", -1: "behind"}[shown]
    slugs = [selection.slug_of(info.compared, method) for method in (pair.first, pair.second)]
    address = changed_query(query, first=slugs[0], versus=slugs[1])
    return {"counts": counts, "untold": untold, "standing": standing, "address": address}


def pair_facts(pair: PairInfo, info: SignificanceInfo) -> dict[str, str]:
    mean = "–" if pair.mean is None else f"{signed_text(pair.mean, info.label)} {info.label.difference_unit}".strip()
    if pair.incomplete:
        mean = f"not compared: seeds are lost in {pair.incomplete} of {len(pair.settings)} settings"
    facts = {"Settings in common": str(len(pair.settings))}
    if pair.common_seeds:
        few = ", few to tell two apart" if min(pair.common_seeds) < FEWEST_SEEDS else ""
        facts["Seeds in common"] = f"{seed_range(pair.common_seeds)} in each{few}"
    facts["Mean difference of cell means"] = mean
    if lost := lost_words(pair):
        facts["Lost seeds"] = lost
    if pair.ranks and pair.corrected is not None:
        facts["Wilcoxon, exact"] = f"{p_text(pair.ranks.p)} over {pair.ranks.n} settings that differ"
        facts["after Holm"] = p_text(pair.corrected)
    return facts


def clients_context(selection: Selection, choices: Choices) -> dict[str, Any]:
    label = metric_label("client_accuracy_mean")
    spreads = client_spreads(selection, choices, client_accuracies(runs=list(selection.runs)))
    return {"spreads": spreads, "unit": label.unit, "runs": run_choices(selection, choices)}


def run_choices(selection: Selection, choices: Choices) -> list[tuple[int, str]]:
    styles = selection.styles_without_panels(choices)
    runs = [
        (run.pk, f"{styles[cell.key].whole_label} · seed {run.seed} (run {run.pk})")
        for cell in selection.cells
        for run in cell.runs
    ]
    return runs[:MOST_RUN_CHOICES]


def specs_context(selection: Selection, choices: Choices) -> dict[str, Any]:
    """Any two runs of the lab; without a choice, the first runs of the first two cells."""
    firsts = [cell.runs[0].pk for cell in selection.cells]
    left, right = (chosen or firsts[min(place, len(firsts) - 1)] for place, chosen in enumerate(choices.diff))
    runs = Run.objects.in_bulk([left, right])
    known = left in runs and right in runs
    diff = spec_diff(runs[left].spec, runs[right].spec) if known else None
    return {"left": left, "right": right, "diff": diff, "runs": run_choices(selection, choices)}
