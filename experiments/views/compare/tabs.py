"""What each tab shows beside its charts."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from experiments.charts.better import BetterInfo, PairInfo, friedman_words, p_text, pair_words
from experiments.charts.metrics import metric_label
from experiments.charts.pivot_table import Entry, PivotTable, caption
from experiments.charts.spec_diff import spec_diff
from experiments.charts.values import shown
from experiments.compare.choices import Choices
from experiments.compare.depth import better, chosen_pair, spreads
from experiments.compare.overview import missing_words, table_of
from experiments.compare.picked import Picked
from experiments.compare.samples import samples_of
from experiments.models import Run
from experiments.views.compare.strip import changed

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
    return {"text": shown(sample, table.label), "standing": entry.standing, "notes": ", ".join(notes)}


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
