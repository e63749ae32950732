"""Is it better? Pairs of methods, setting by setting over matching seeds, and over many settings on their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from experiments.charts.chart import DataTable
from experiments.compare.charts.values import setting_of
from experiments.labels.axes import Axes
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import Difference, paired_difference
from experiments.statistics.over_seeds import Sample
from experiments.statistics.rank_tests import (
    ALPHA,
    Friedman,
    SignedRanks,
    friedman,
    holm,
    settings_needed,
    signed_ranks,
)

MOST_METHODS = 12


@dataclass(frozen=True)
class SettingDifference:
    """First minus second in one setting, in the shown unit; `means` are the two cells' own."""

    setting: str
    difference: Difference | None
    means: tuple[float, float]


@dataclass(frozen=True)
class PairInfo:
    first: str
    second: str
    settings: tuple[SettingDifference, ...]
    ranks: SignedRanks | None
    corrected: float | None
    higher: bool

    @property
    def wins(self) -> int:
        return self.count("more" if self.higher else "less")

    @property
    def losses(self) -> int:
        return self.count("less" if self.higher else "more")

    @property
    def ties(self) -> int:
        return self.count("tie")

    @property
    def unknown(self) -> int:
        return len(self.settings) - self.wins - self.losses - self.ties

    def count(self, verdict: str) -> int:
        return sum(each.difference is not None and each.difference.verdict == verdict for each in self.settings)

    @property
    def mean(self) -> float | None:
        """Of the differences of cell means."""
        return (
            sum(a - b for a, b in (each.means for each in self.settings)) / len(self.settings)
            if self.settings
            else None
        )


@dataclass(frozen=True)
class SignificanceInfo:
    label: MetricLabel
    compared: str
    methods: tuple[str, ...]
    pairs: tuple[PairInfo, ...]
    friedman: Friedman | None
    left_out: int

    def between(self, first: str, second: str) -> tuple[int, int, int] | None:
        """How often the first is better, ties and is worse; None where they share no setting."""
        if pair := self.pair(first, second):
            return (pair.wins, pair.ties, pair.losses) if pair.settings else None
        pair = self.pair(second, first)
        return (pair.losses, pair.ties, pair.wins) if pair and pair.settings else None

    def pair(self, first: str, second: str) -> PairInfo | None:
        return next((each for each in self.pairs if (each.first, each.second) == (first, second)), None)


def significance_info(
    cells: Sequence[str], axes: Axes, samples: Mapping[str, Sample], label: MetricLabel, compared: str
) -> SignificanceInfo:
    table = samples_by_setting(cells, axes, samples, label.scale, compared)
    everyone = list(dict.fromkeys(axes[compared][cell] for cell in cells)) if compared in axes else []
    methods = tuple(everyone[:MOST_METHODS])
    pairs = [pair_info(table, first, second, label.higher_is_better) for first, second in combinations(methods, 2)]
    tested = [pair for pair in pairs if pair.ranks is not None]
    corrected = dict(zip(map(id, tested), holm([pair.ranks.p for pair in tested if pair.ranks]), strict=True))
    corrected_pairs = tuple(
        PairInfo(each.first, each.second, each.settings, each.ranks, corrected.get(id(each)), each.higher)
        for each in pairs
    )
    return SignificanceInfo(
        label,
        compared,
        methods,
        corrected_pairs,
        friedman_over_settings(table, methods, label),
        len(everyone) - len(methods),
    )


def samples_by_setting(
    cells: Sequence[str], axes: Axes, samples: Mapping[str, Sample], scale: float, compared: str
) -> dict[str, dict[str, Sample]]:
    table: dict[str, dict[str, Sample]] = {}
    for cell in cells:
        if compared in axes and cell in samples and samples[cell].seeds:
            scaled = Sample({seed: value * scale for seed, value in samples[cell].seeds.items()})
            table.setdefault(" · ".join(setting_of(cell, axes, compared)), {})[axes[compared][cell]] = scaled
    return table


def pair_info(table: Mapping[str, Mapping[str, Sample]], first: str, second: str, higher: bool) -> PairInfo:
    settings = tuple(
        SettingDifference(
            setting, paired_difference(row[first], row[second]), (row[first].mean or 0.0, row[second].mean or 0.0)
        )
        for setting, row in table.items()
        if first in row and second in row
    )
    ranks = signed_ranks([each.means[0] - each.means[1] for each in settings]) if len(settings) > 1 else None
    return PairInfo(first, second, settings, ranks, None, higher)


def friedman_over_settings(
    table: Mapping[str, Mapping[str, Sample]], methods: Sequence[str], label: MetricLabel
) -> Friedman | None:
    """On the settings in which every method was measured."""
    complete = [row for row in table.values() if all(method in row for method in methods)]
    return friedman(
        [[row[method].mean or 0.0 for method in methods] for row in complete], higher=label.higher_is_better
    )


def pair_words(pair: PairInfo, comparisons: int) -> str:
    """The answer in a sentence, and why there is none where there is none."""
    settings = len(pair.settings)
    if not settings:
        return "They share no setting."
    if settings == 1:
        return one_setting_words(pair)
    needed = settings_needed(comparisons)
    used = pair.ranks.n if pair.ranks else 0
    if used < needed:
        tests = "this comparison" if comparisons == 1 else f"{comparisons} comparisons"
        return f"Too few settings to tell over all: {used} differ, and with {tests} at least {needed} must."
    if pair.corrected is None or pair.corrected >= ALPHA:
        return "No difference over all settings can be shown."
    return f"{winner(pair)} is better over all settings (p = {p_text(pair.corrected)} after Holm)."


def one_setting_words(pair: PairInfo) -> str:
    difference = pair.settings[0].difference
    if difference is None:
        return "They share no seed."
    if difference.verdict == "unknown":
        return "One common seed is too few to tell: launch both with at least two, better five."
    if difference.verdict == "tie":
        return f"No difference can be shown with {difference.n} seeds."
    return f"{pair.first if pair.wins else pair.second} is better ({difference.n} seeds)."


def winner(pair: PairInfo) -> str:
    ahead = (pair.mean or 0.0) > 0
    return pair.first if ahead == pair.higher else pair.second


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def friedman_words(info: SignificanceInfo) -> str:
    if len(info.methods) < 3:
        return "Friedman's test compares three methods or more."
    test = info.friedman
    if test is None:
        return "Friedman's test needs two settings or more in which every method was measured, and some difference."
    if test.p >= ALPHA:
        verdict = f"over {test.settings} settings no difference among the {test.methods} can be shown"
        return f"Friedman: {verdict} (p = {p_text(test.p)})."
    ranks = ", ".join(
        f"{name} {rank:.2f}"
        for name, rank in sorted(zip(info.methods, test.mean_ranks, strict=True), key=lambda each: each[1])
    )
    verdict = f"the {test.methods} differ over {test.settings} settings (p = {p_text(test.p)})"
    return f"Friedman: {verdict}. Mean ranks: {ranks}."


def significance_table(info: SignificanceInfo) -> DataTable:
    """In the shown unit, setting by setting."""
    rows = tuple(
        (pair.first, pair.second, each.setting, *each.means, *difference_columns(each.difference))
        for pair in info.pairs
        for each in pair.settings
    )
    return DataTable(
        ("first", "second", "setting", "first mean", "second mean", "difference", "low", "high", "n", "verdict"), rows
    )


def difference_columns(difference: Difference | None) -> tuple[float | str | None, ...]:
    if difference is None:
        return (None, None, None, 0, "unknown")
    return (difference.mean, difference.low, difference.high, difference.n, difference.verdict)


MOST_SETTINGS = 60
ROW_HEIGHT = 26
STANDING_WORDS = {"better": "better", "worse": "worse", "tie": "tie", "unknown": "too few seeds"}
STANDING_HUES = {"better": 3, "worse": 1, "tie": 7, "unknown": 7}


def verdict_standing(pair: PairInfo, verdict: str) -> str:
    if verdict in ("tie", "unknown"):
        return verdict
    return "better" if (verdict == "more") == pair.higher else "worse"


def forest_figure(pair: PairInfo, label: MetricLabel) -> dict[str, Any]:
    """The largest difference at the top."""
    known = [each for each in pair.settings if each.difference is not None]
    known.sort(key=lambda each: each.difference.mean if each.difference else 0.0)
    data = []
    for each in known[-MOST_SETTINGS:]:
        difference = each.difference
        assert difference is not None
        kind = verdict_standing(pair, difference.verdict)
        half = 0.0 if difference.high is None else difference.high - difference.mean
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [difference.mean],
                "y": [each.setting or "only setting"],
                "error_x": {
                    "type": "data",
                    "array": [half],
                    "width": 4,
                    "thickness": 1.5,
                    "visible": difference.high is not None,
                },
                "marker": {"size": 9, "symbol": "circle-open" if difference.high is None else "circle"},
                "hovertemplate": f"%{{y}}: {difference_text(difference, label)}, {STANDING_WORDS[kind]}<extra></extra>",
                "meta": {"hue": STANDING_HUES[kind]},
            }
        )
    unit = f", {label.difference_unit}" if label.unit else ""
    zero = {
        "type": "line",
        "layer": "below",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "x0": 0,
        "x1": 0,
        "line": {"width": 1.5},
    }
    return {
        "data": data,
        "layout": {
            "hovermode": "closest",
            "height": max(200, ROW_HEIGHT * len(data) + 90),
            "xaxis": {"title": {"text": f"{pair.first} minus {pair.second}{unit}"}},
            "yaxis": {"type": "category", "title": {"text": ""}},
            "shapes": [zero],
        },
    }


def difference_text(difference: Difference, label: MetricLabel) -> str:
    half = "" if difference.high is None else f" ± {difference.high - difference.mean:.{label.digits}f}"
    return f"{difference.mean:+.{label.digits}f}{half} (n={difference.n})"


def forest_description(pair: PairInfo, label: MetricLabel) -> str:
    rows = "; ".join(
        f"{each.setting or 'only setting'}: {difference_text(difference, label)}, "
        f"{STANDING_WORDS[verdict_standing(pair, difference.verdict)]}"
        for each in pair.settings
        if (difference := each.difference) is not None
    )
    return f"{label.axis}: {pair.first} minus {pair.second}. {rows or 'They share no seed in any setting'}."


def forest_notes(pair: PairInfo) -> str:
    counts = f"{pair.first} better in {pair.wins}, worse in {pair.losses}, tie in {pair.ties} settings"
    few = f", too few seeds in {pair.unknown}" if pair.unknown else ""
    return f"{counts}{few} · bars: 95 % interval of the difference over matching seeds (Student's t)"
