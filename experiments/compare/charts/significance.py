"""Is it better? Pairs of methods, setting by setting over matching seeds, and over many settings on their means.

A seed that diverged or has no value is worse than any that has one. Where such a seed is among those compared, means
are not: seeds are counted, and over settings medians take the place of means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from experiments.charts.chart import DataTable
from experiments.compare.charts.values import FEWEST_SEEDS, lost_text, setting_of
from experiments.labels.axes import Axes
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import Difference, SeedWins, paired_difference, seed_wins
from experiments.statistics.over_seeds import Sample, exact_sum
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
COUNTED_AS_WORST = ", a lost seed counting as the worst"


SettingStanding = Literal["better", "worse", "tie", "unknown", "lost"]
"""Of the first method: `unknown` where seeds are too few, `lost` where seeds are lost and ranks show nothing."""


@dataclass(frozen=True)
class SettingDifference:
    """First minus second in one setting, in the shown unit; `samples` are the two cells' own, in stored units.

    Where a matching seed is lost, means are not compared: there is no difference, but `wins`, seed by seed.
    """

    setting: str
    difference: Difference | None
    samples: tuple[Sample, Sample]
    wins: SeedWins | None = None

    def standing(self, *, higher: bool) -> SettingStanding:
        if self.wins is not None:
            first, second = self.wins.better
            return "lost" if self.wins.p >= ALPHA else "better" if first > second else "worse"
        verdict = self.difference.verdict if self.difference else "unknown"
        if verdict in ("tie", "unknown"):
            return "tie" if verdict == "tie" else "unknown"
        return "better" if (verdict == "more") == higher else "worse"


def cell_levels(samples: Sequence[Sample], *, higher: bool) -> list[float]:
    """One number of each cell of a setting: the means; where a cell lost seeds the medians, with those as the worst."""
    if all(each.complete and each.mean is not None for each in samples):
        return [each.mean or 0.0 for each in samples]
    return [each.median(higher=higher) for each in samples]


@dataclass(frozen=True)
class PairInfo:
    first: str
    second: str
    settings: tuple[SettingDifference, ...]
    ranks: SignedRanks | None
    corrected: float | None
    label: MetricLabel

    @property
    def wins(self) -> int:
        return self.count("better")

    @property
    def losses(self) -> int:
        return self.count("worse")

    @property
    def ties(self) -> int:
        return self.count("tie")

    @property
    def unknown(self) -> int:
        """Settings with too few common seeds."""
        return self.count("unknown")

    @property
    def undecided(self) -> int:
        """Settings in which seeds are lost, and ranks show nothing."""
        return self.count("lost")

    @property
    def common_seeds(self) -> list[int]:
        """Of each setting that is compared over its seeds."""
        return [each.difference.n for each in self.settings if each.difference is not None]

    @property
    def better_shown(self) -> int:
        """1 where the first was shown to be better, -1 the second, 0 neither: by the corrected test over settings, or
        in every single setting over three seeds or more."""
        if self.corrected is not None and self.corrected < ALPHA:
            return 1 if winner(self) == self.first else -1
        everywhere = max(self.wins, self.losses) == len(self.settings)
        enough = min(self.common_seeds, default=FEWEST_SEEDS) >= FEWEST_SEEDS
        return (self.wins > self.losses) - (self.wins < self.losses) if everywhere and enough else 0

    def count(self, standing: SettingStanding) -> int:
        return sum(each.standing(higher=self.label.higher_is_better) == standing for each in self.settings)

    @property
    def incomplete(self) -> int:
        """Settings in which one of the two lost seeds."""
        return sum(not all(sample.complete for sample in each.samples) for each in self.settings)

    @property
    def mean(self) -> float | None:
        """Of the differences of cell means; None where seeds are lost, whose means must not be compared."""
        if not self.settings or self.incomplete:
            return None
        differences = [(first.mean or 0.0) - (second.mean or 0.0) for first, second in self.samples]
        return self.label.scale * exact_sum(differences) / len(differences)

    @property
    def samples(self) -> list[tuple[Sample, Sample]]:
        return [each.samples for each in self.settings]


@dataclass(frozen=True)
class SignificanceInfo:
    label: MetricLabel
    compared: str
    methods: tuple[str, ...]
    pairs: tuple[PairInfo, ...]
    friedman: Friedman | None
    left_out: tuple[str, ...] = ()
    """Methods beyond as many as a matrix holds."""

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
    table = samples_by_setting(cells, axes, samples, compared)
    everyone = list(dict.fromkeys(axes[compared][cell] for cell in cells)) if compared in axes else []
    methods = tuple(everyone[:MOST_METHODS])
    pairs = [pair_info(table, first, second, label) for first, second in combinations(methods, 2)]
    tested = [pair for pair in pairs if pair.ranks is not None]
    corrected = dict(zip(map(id, tested), holm([pair.ranks.p for pair in tested if pair.ranks]), strict=True))
    corrected_pairs = tuple(replace(each, corrected=corrected.get(id(each))) for each in pairs)
    return SignificanceInfo(
        label,
        compared,
        methods,
        corrected_pairs,
        friedman_over_settings(table, methods, label),
        tuple(everyone[MOST_METHODS:]),
    )


def samples_by_setting(
    cells: Sequence[str], axes: Axes, samples: Mapping[str, Sample], compared: str
) -> dict[str, dict[str, Sample]]:
    table: dict[str, dict[str, Sample]] = {}
    for cell in cells:
        if compared in axes and cell in samples and samples[cell].every_seed:
            table.setdefault(" · ".join(setting_of(cell, axes, compared)), {})[axes[compared][cell]] = samples[cell]
    return table


def pair_info(table: Mapping[str, Mapping[str, Sample]], first: str, second: str, label: MetricLabel) -> PairInfo:
    settings = tuple(
        setting_difference(setting, row[first], row[second], label)
        for setting, row in table.items()
        if first in row and second in row
    )
    ranks = signed_ranks([level_difference(each, label) for each in settings]) if len(settings) > 1 else None
    return PairInfo(first, second, settings, ranks, None, label)


def setting_difference(setting: str, first: Sample, second: Sample, label: MetricLabel) -> SettingDifference:
    difference = paired_difference(first, second)
    wins = seed_wins(first, second, higher=label.higher_is_better)
    return SettingDifference(setting, difference and difference.scaled(label.scale), (first, second), wins)


def level_difference(each: SettingDifference, label: MetricLabel) -> float:
    """In the shown unit; infinite where one of the two lost most of its seeds, 0 where both did."""
    first, second = cell_levels(each.samples, higher=label.higher_is_better)
    return 0.0 if first == second else label.scale * (first - second)


def friedman_over_settings(
    table: Mapping[str, Mapping[str, Sample]], methods: Sequence[str], label: MetricLabel
) -> Friedman | None:
    """On the settings in which every method was measured."""
    higher = label.higher_is_better
    complete = [row for row in table.values() if all(method in row for method in methods)]
    return friedman(
        [cell_levels([row[method] for method in methods], higher=higher) for row in complete], higher=higher
    )


def pair_words(pair: PairInfo, comparisons: int) -> str:
    """The answer in a sentence, why there is none where there is none, and which seeds were lost."""
    answer, lost = answer_words(pair, comparisons), lost_words(pair)
    told = len(pair.settings) == 1 and pair.settings[0].wins is not None
    return f"{answer} Lost seeds: {lost}." if lost and not told else answer


def answer_words(pair: PairInfo, comparisons: int) -> str:
    settings = len(pair.settings)
    if not settings:
        return "They share no setting."
    if settings == 1:
        return one_setting_words(pair)
    needed = settings_needed(comparisons)
    used = pair.ranks.n if pair.ranks else 0
    if used < needed:
        tests = "" if comparisons == 1 else f"with {comparisons} comparisons "
        return f"Too few settings to tell over all: they differ in {used}, and {tests}at least {needed} are needed."
    if pair.corrected is None or pair.corrected >= ALPHA:
        return "No difference over all settings can be shown."
    worst = COUNTED_AS_WORST if pair.incomplete else ""
    return f"{winner(pair)} is better over all settings ({p_text(pair.corrected)} after Holm{worst})."


def one_setting_words(pair: PairInfo) -> str:
    (setting,) = pair.settings
    difference = setting.difference
    if setting.wins is not None:
        return seed_wins_words(pair, setting.wins)
    if difference is None:
        return "They share no seed."
    if difference.verdict == "unknown":
        return "One common seed is too few to tell: launch both with at least two, better five."
    if difference.verdict == "tie":
        return f"No difference can be shown with {difference.n} seeds."
    return f"{pair.first if pair.wins else pair.second} is better ({difference.n} seeds)."


def seed_wins_words(pair: PairInfo, wins: SeedWins) -> str:
    """Who does better in how many seeds, what was lost, and what may be said after all."""
    ahead, behind = (0, 1) if wins.better[0] >= wins.better[1] else (1, 0)
    names, counts = (pair.first, pair.second), wins.better
    other = f", {names[behind]} in {counts[behind]}" if counts[behind] else ""
    score = f"{names[ahead]} does better in {counts[ahead]} of {wins.n} {plural(wins.n, 'seed')}{other}"
    if not counts[ahead]:
        score = f"Neither does better in any of {wins.n} {plural(wins.n, 'seed')}"
    seeds = f"{score}: {lost_seeds_words(pair, wins)}."
    if wins.p < ALPHA:
        return f"{names[ahead]} is better. {seeds} A lost seed counts as the worst (sign test, {p_text(wins.p)})."
    return f"It cannot be told which is better. {seeds} Means of the seeds that are left are not compared."


def lost_seeds_words(pair: PairInfo, wins: SeedWins) -> str:
    words = []
    for place, name in enumerate((pair.first, pair.second)):
        if wins.diverged[place]:
            words.append(f"{name} diverged in {wins.diverged[place]}")
        if wins.missing[place]:
            words.append(f"{name} has no value in {wins.missing[place]}")
    return " and ".join(words)


def plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def lost_words(pair: PairInfo) -> str:
    """Of all seeds of all settings: how many each of the two lost; nothing where neither did."""
    parts = []
    for place, name in enumerate((pair.first, pair.second)):
        cells = [samples[place] for samples in pair.samples]
        lost, missed = sum(each.lost for each in cells), sum(each.missed for each in cells)
        if lost or missed:
            parts.append(f"{name}: {lost_text(lost, missed)} of {sum(len(each.every_seed) for each in cells)}")
    return "; ".join(parts)


def winner(pair: PairInfo) -> str:
    """By the ranks of the test, whatever single large differences make of the mean."""
    ahead = pair.ranks is not None and pair.ranks.positive
    return pair.first if ahead == pair.label.higher_is_better else pair.second


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def friedman_words(info: SignificanceInfo) -> str:
    if len(info.methods) < 3:
        return "Friedman's test compares three methods or more."
    test = info.friedman
    if test is None:
        return "Friedman's test needs two settings or more in which every method was measured, and some difference."
    worst = COUNTED_AS_WORST if any(pair.incomplete for pair in info.pairs) else ""
    if test.p >= ALPHA:
        verdict = f"over {test.settings} settings no difference among the {test.methods} can be shown"
        return f"Friedman: {verdict} ({p_text(test.p)}{worst})."
    ranks = ", ".join(
        f"{name} {rank:.2f}"
        for name, rank in sorted(zip(info.methods, test.mean_ranks, strict=True), key=lambda each: each[1])
    )
    verdict = f"the {test.methods} differ over {test.settings} settings ({p_text(test.p)}{worst})"
    return f"Friedman: {verdict}. Mean ranks: {ranks}."


SIGNIFICANCE_COLUMNS = (
    *("first", "second", "setting", "first mean", "second mean", "difference", "low", "high", "n", "verdict"),
    *("first better", "second better", "first lost", "first missed", "second lost", "second missed"),
)


def significance_table(info: SignificanceInfo) -> DataTable:
    """In the shown unit, setting by setting; `verdict` is of the first minus the second, `n` counts matching seeds."""
    rows = tuple(
        (pair.first, pair.second, each.setting, *setting_columns(each, info.label))
        for pair in info.pairs
        for each in pair.settings
    )
    return DataTable(SIGNIFICANCE_COLUMNS, rows)


def setting_columns(each: SettingDifference, label: MetricLabel) -> tuple[float | str | None, ...]:
    means = [None if sample.mean is None else sample.mean * label.scale for sample in each.samples]
    lost = [count for sample in each.samples for count in (sample.lost, sample.missed)]
    difference, wins = each.difference, each.wins
    if wins is not None:
        higher = label.higher_is_better
        standing = each.standing(higher=higher)
        verdict = "unknown" if standing == "lost" else "more" if (standing == "better") == higher else "less"
        return (*means, None, None, None, wins.n, verdict, *wins.better, *lost)
    if difference is None:
        return (*means, None, None, None, 0, "unknown", None, None, *lost)
    numbers = (difference.mean, difference.low, difference.high, difference.n, difference.verdict)
    return (*means, *numbers, None, None, *lost)


MOST_NOTES = 3
ROW_HEIGHT, NARROW_ROW_HEIGHT = 26, 44
STANDING_WORDS: dict[SettingStanding, str] = {
    "better": "better",
    "worse": "worse",
    "tie": "tie",
    "unknown": "too few seeds",
    "lost": "cannot be told, seeds are lost",
}
STANDING_HUES: dict[SettingStanding, int] = {"better": 3, "worse": 1, "tie": 7, "unknown": 7, "lost": 7}


def forest_figure(pair: PairInfo, label: MetricLabel, *, narrow: bool = False) -> dict[str, Any]:
    """The largest difference at the top; settings in which seeds are lost have none, and are told beside the chart.

    On a `narrow` screen the settings' names stand above their rows, where they leave the rows their width.
    """
    known = [each for each in pair.settings if each.difference is not None]
    known.sort(key=lambda each: each.difference.mean if each.difference else 0.0)
    data = []
    for each in known:
        difference = each.difference
        assert difference is not None
        kind = each.standing(higher=label.higher_is_better)
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
    row_height = NARROW_ROW_HEIGHT if narrow else ROW_HEIGHT
    title = f"Difference{unit}" if narrow else f"{pair.first} minus {pair.second}{unit}"
    names = {"annotations": [row_name(each.setting or "only setting") for each in known]} if narrow else {}
    return {
        "data": data,
        "layout": {
            "hovermode": "closest",
            "height": max(200, row_height * len(data) + 90),
            "xaxis": {"title": {"text": title}},
            "yaxis": {"type": "category", "title": {"text": ""}, **({"showticklabels": False} if narrow else {})},
            "shapes": [zero],
            **names,
        },
    }


def row_name(text: str, y: float | str | None = None) -> dict[str, Any]:
    """At the left end, above the row that it names."""
    place = {
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "y": text if y is None else y,
        "yanchor": "bottom",
        "yshift": 5,
    }
    return {"text": text, "showarrow": False, **place}


def difference_text(difference: Difference, label: MetricLabel) -> str:
    half = "" if difference.high is None else f" ± {difference.high - difference.mean:.{label.digits}f}"
    return f"{signed_text(difference.mean, label)}{half} (n={difference.n})"


def signed_text(value: float, label: MetricLabel) -> str:
    """With its sign, which what rounds to nothing does not have."""
    text = f"{value:+.{label.digits}f}"
    return text if float(text) else text[1:]


def forest_description(pair: PairInfo, label: MetricLabel) -> str:
    rows = "; ".join(
        f"{each.setting or 'only setting'}: {text}, {STANDING_WORDS[each.standing(higher=label.higher_is_better)]}"
        for each in pair.settings
        if (text := setting_text(pair, each, label))
    )
    return f"{label.axis}: {pair.first} minus {pair.second}. {rows or 'They share no seed in any setting'}."


def setting_text(pair: PairInfo, each: SettingDifference, label: MetricLabel) -> str:
    if each.wins is not None:
        first, second = each.wins.better
        score = f"{pair.first} better in {first}, {pair.second} in {second} of {each.wins.n} seeds"
        return f"{score} ({lost_seeds_words(pair, each.wins)})"
    return difference_text(each.difference, label) if each.difference is not None else ""


def forest_notes(pair: PairInfo) -> str:
    counts = f"{pair.first} better in {pair.wins}, worse in {pair.losses}, tie in {pair.ties} settings"
    few = f", too few seeds in {pair.unknown}" if pair.unknown else ""
    lost = f", not to be told in {pair.undecided} because seeds are lost" if pair.undecided else ""
    notes = [
        f"{counts}{few}{lost}",
        "bars: 95 % interval of the difference over matching seeds (Student's t)",
        *lost_setting_notes(pair),
    ]
    return " · ".join(notes)


def lost_setting_notes(pair: PairInfo) -> list[str]:
    """What has no place in the chart."""
    lost = [each for each in pair.settings if each.wins is not None]
    notes = [f"{each.setting or 'only setting'}: {setting_text(pair, each, pair.label)}" for each in lost[:MOST_NOTES]]
    more = [f"and {len(lost) - MOST_NOTES} settings more with lost seeds"] if len(lost) > MOST_NOTES else []
    return [*notes, *more]
