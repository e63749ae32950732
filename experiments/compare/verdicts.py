"""What may be said of every two methods, with what must be said beside it: for programs that repeat it."""

from __future__ import annotations

from typing import Any

from experiments.compare.chart_builders import selection_significance
from experiments.compare.charts.significance import PairInfo, friedman_words, lost_words, pair_words
from experiments.compare.choices import Choices
from experiments.compare.samples import one_column, samples_of
from experiments.compare.selection import Selection
from experiments.labels.specs import LOGGED_NOTE
from experiments.statistics.intervals import interval_around, t_half_width
from experiments.statistics.over_seeds import Sample
from workers.spec import is_logged

ENOUGH_SEEDS = 5


def verdicts_answer(selection: Selection, choices: Choices) -> dict[str, Any]:
    info = selection_significance(selection, choices)
    comparisons = sum(each.ranks is not None for each in info.pairs)
    logged = sum(len(cell.runs) for cell in selection.cells if is_logged(cell.spec))
    pairs = [pair for pair in info.pairs if pair.settings]
    samples = one_column(samples_of(selection, choices), choices.value)
    return {
        "metric": info.label.axis,
        "compared": info.compared,
        "overall": friedman_words(info),
        "cells": [
            cell_answer({axis: words[cell.key] for axis, words in selection.axes.items()}, samples[cell.key])
            for cell in selection.cells
            if cell.key in samples
        ],
        "verdicts": [verdict_answer(pair, comparisons, len(pairs), logged) for pair in pairs],
        "left_out": len(info.left_out),
    }


def cell_answer(axes: dict[str, str], sample: Sample) -> dict[str, Any]:
    half = t_half_width(sample.std, sample.n)
    low, high = (None, None) if half is None or sample.mean is None else interval_around(sample.mean, half)
    numbers = {"n": sample.n, "mean": sample.mean, "low": low, "high": high}
    return {"axes": axes, **numbers, "lost": sample.lost, "missed": sample.missed}


def verdict_answer(pair: PairInfo, comparisons: int, pairs: int, logged: int) -> dict[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "settings": len(pair.settings),
        "better": pair.wins,
        "worse": pair.losses,
        "ties": pair.ties,
        "seeds": fewest_seeds(pair),
        "p": pair.corrected,
        "verdict": pair_words(pair, comparisons),
        "caveats": caveats(pair, pairs, logged),
    }


def fewest_seeds(pair: PairInfo) -> int:
    return min(len(first.every_seed & second.every_seed) for first, second in pair.samples)


def caveats(pair: PairInfo, pairs: int, logged: int) -> list[str]:
    """Intervals of single settings are not corrected for their number; tests over settings are, by Holm."""
    seeds, lost, settings = fewest_seeds(pair), lost_words(pair), len(pair.settings)
    checks = [
        (settings == 1, "One setting: nothing is said about others."),
        (
            settings == 1 and pairs > 1,
            f"{pairs} pairs are compared, each with an interval of its own: one in twenty differs by chance.",
        ),
        (seeds < ENOUGH_SEEDS, f"Only {seeds} matching seeds: the interval is wide, {ENOUGH_SEEDS} or more say more."),
        (bool(lost), f"Lost seeds: {lost}."),
        (logged > 0, f"{logged} of the runs were {LOGGED_NOTE}: their numbers are their script's word."),
    ]
    return [text for wanted, text in checks if wanted]
