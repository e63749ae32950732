"""Which displays fit a study, and what each consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from experiments.compare.charts.bars import MOST_BARS
from experiments.compare.displays import compare_views, tables
from experiments.compare.displays.charts import DISPLAY_CHART_TITLES
from experiments.compare.displays.compare_views import RATIO, CompareView
from experiments.compare.displays.reading_table import DisplayTable
from experiments.compare.displays.subject import Subject
from experiments.labels.metrics import DETECTOR_ACCURACY
from experiments.presets.preset import Display

STEADY_ROUNDS = 10
BARS = ("final-bars", "traffic")
"""Side by side where there are both."""


@dataclass(frozen=True)
class DisplayContent:
    """A display's parts, in this order: views of Compare, charts of its own by name, tables; or the clients' data."""

    name: Display
    views: Sequence[CompareView] = ()
    charts: Sequence[tuple[str, str]] = ()
    """With their headings."""
    tables: Sequence[DisplayTable] = ()
    holdings: bool = False
    wide: bool = True
    """Its charts have a row of their own."""

    @property
    def is_empty(self) -> bool:
        """As where a study is too large for its tables."""
        return not (self.views or self.charts or self.tables or self.holdings)


@dataclass(frozen=True)
class Offer:
    fits: Callable[[Subject], bool]
    views: Callable[[Subject], list[CompareView]] = field(default=lambda subject: [])
    charts: tuple[str, ...] = ()
    tables: Callable[[Subject], list[DisplayTable]] = field(default=lambda subject: [])


def displays_for(subject: Subject, names: Sequence[Display] = get_args(Display)) -> list[DisplayContent]:
    """Those of them that fit; nothing before the first run has a value."""
    if not subject.metrics:
        return []
    fitting = [display_content(name, subject) for name in names if OFFERS[name].fits(subject)]
    contents = [each for each in fitting if not each.is_empty]
    paired = all(name in [each.name for each in contents] for name in BARS)
    return [replace(each, wide=not (paired and each.name in BARS)) for each in contents]


def display_content(name: Display, subject: Subject) -> DisplayContent:
    offer = OFFERS[name]
    charts = [(chart, DISPLAY_CHART_TITLES[chart]) for chart in offer.charts]
    return DisplayContent(name, offer.views(subject), charts, offer.tables(subject), name == "holdings")


def has_own_engine(subject: Subject) -> bool:
    """Whether some cells are not of apps, whose data nobody here knows."""
    return bool(subject.strategies)


def has_several_cells(subject: Subject) -> bool:
    """With accuracies, that is: an app may measure something else."""
    return len(subject.selection.cells) > 1 and "accuracy" in subject.metrics


def has_enough_rounds(subject: Subject) -> bool:
    return has_several_cells(subject) and subject.rounds >= STEADY_ROUNDS


def has_ratios(subject: Subject) -> bool:
    return RATIO in subject.selection.axes


def has_skewed_labels(subject: Subject) -> bool:
    return "strategy" in subject.selection.axes and bool(compare_views.skewed_partitions(subject))


def has_swaps(subject: Subject) -> bool:
    return any("h1" in strategy for strategy in subject.strategies)


def has_detectors(subject: Subject) -> bool:
    return DETECTOR_ACCURACY in subject.metrics


def has_few_bars(subject: Subject) -> bool:
    """One for each cell of few strategies, or of an app."""
    compared = "strategy" in subject.selection.axes or not has_own_engine(subject)
    return compared and has_several_cells(subject) and len(subject.selection.cells) <= MOST_BARS


def has_several_models(subject: Subject) -> bool:
    return "model" in subject.selection.axes or has_detectors(subject)


def has_groups(subject: Subject) -> bool:
    return bool(tables.run_groupings(subject))


def has_natural_clients(subject: Subject) -> bool:
    return any(row.get("partition") == "natural" for row in subject.selection.flat.values())


def has_centralised_cells(subject: Subject) -> bool:
    return sum(strategy["name"] == "centralised" for strategy in subject.strategies) > 1


def has_tuning_grid(subject: Subject) -> bool:
    return "accuracy" in subject.metrics and bool(compare_views.tuning_views(subject))


def target_views(subject: Subject) -> list[CompareView]:
    return compare_views.ratio_to_target_views(subject) if has_ratios(subject) else []


def target_tables(subject: Subject) -> list[DisplayTable]:
    return [] if has_ratios(subject) else tables.rounds_to_target_tables(subject)


OFFERS: dict[Display, Offer] = {
    "curves": Offer(lambda subject: True, views=compare_views.curve_views),
    "overlays": Offer(has_skewed_labels, views=compare_views.overlay_views),
    "rounds-table": Offer(has_enough_rounds, tables=tables.rounds_tables),
    "stability-table": Offer(has_enough_rounds, tables=tables.stability_tables),
    "final-table": Offer(has_several_cells, tables=tables.final_tables),
    "against-ratio": Offer(has_ratios, views=compare_views.ratio_views),
    "rounds-to-target": Offer(has_several_cells, views=target_views, tables=target_tables),
    "swap-moments": Offer(has_swaps, charts=("swap-moments",)),
    "traffic": Offer(has_few_bars, charts=("traffic",), tables=tables.convergence_tables),
    "detectors": Offer(has_detectors, charts=("detectors", "detectors-together")),
    "final-bars": Offer(has_few_bars, charts=("final-bars",)),
    "sizes": Offer(has_several_models, charts=("sizes",)),
    "groups": Offer(has_groups, tables=tables.group_tables),
    "holdings": Offer(has_own_engine),
    "holdings-histograms": Offer(has_natural_clients, charts=("classes-held", "samples-held")),
    "centralised-table": Offer(has_centralised_cells, tables=tables.centralised_tables),
    "tuning-map": Offer(has_tuning_grid, views=compare_views.tuning_views),
}
