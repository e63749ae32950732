"""Which displays fit a study, and what each consists of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from experiments.compare.displays import compare_views, tables
from experiments.compare.displays.charts import TITLES
from experiments.compare.displays.compare_views import RATIO, CompareView
from experiments.compare.displays.reading_table import DisplayTable
from experiments.compare.displays.subject import Subject
from experiments.labels.metrics import DETECTORS
from experiments.presets.preset import Display

STEADY_ROUNDS = 10
MOST_BARS = 60
BARS = ("final-bars", "traffic")
"""Side by side where there are both."""


@dataclass(frozen=True)
class Shown:
    """A display's parts, in this order: views of Compare, charts of its own by name, tables; or the clients' data."""

    name: Display
    views: Sequence[CompareView] = ()
    charts: Sequence[tuple[str, str]] = ()
    """With their headings."""
    tables: Sequence[DisplayTable] = ()
    holdings: bool = False
    wide: bool = True
    """Its charts have a row of their own."""


@dataclass(frozen=True)
class Offer:
    fits: Callable[[Subject], bool]
    views: Callable[[Subject], list[CompareView]] = field(default=lambda subject: [])
    charts: tuple[str, ...] = ()
    tables: Callable[[Subject], list[DisplayTable]] = field(default=lambda subject: [])


def shown_for(subject: Subject, wanted: Sequence[Display] = get_args(Display)) -> list[Shown]:
    """Those wanted that fit; nothing before the first run has a value."""
    if not subject.metrics:
        return []
    found = [shown(name, subject) for name in wanted if OFFERS[name].fits(subject)]
    paired = all(name in [each.name for each in found] for name in BARS)
    return [replace(each, wide=not (paired and each.name in BARS)) for each in found]


def shown(name: Display, subject: Subject) -> Shown:
    offer = OFFERS[name]
    charts = [(chart, TITLES[chart]) for chart in offer.charts]
    return Shown(name, offer.views(subject), charts, offer.tables(subject), name == "holdings")


def varied(subject: Subject) -> bool:
    return len(subject.picked.cells) > 1


def steady(subject: Subject) -> bool:
    return varied(subject) and subject.rounds >= STEADY_ROUNDS


def has_ratios(subject: Subject) -> bool:
    return RATIO in subject.picked.axes


def overlaid(subject: Subject) -> bool:
    return "strategy" in subject.picked.axes and bool(compare_views.skewed(subject))


def swapping(subject: Subject) -> bool:
    return any("h1" in strategy for strategy in subject.strategies)


def detecting(subject: Subject) -> bool:
    return DETECTORS in subject.metrics


def few_strategies(subject: Subject) -> bool:
    return "strategy" in subject.picked.axes and len(subject.picked.cells) <= MOST_BARS


def several_models(subject: Subject) -> bool:
    return "model" in subject.picked.axes or detecting(subject)


def grouped(subject: Subject) -> bool:
    return bool(tables.groupings(subject))


def ratio_charts(subject: Subject) -> list[CompareView]:
    return compare_views.ratio_to_target(subject) if has_ratios(subject) else []


def target_tables(subject: Subject) -> list[DisplayTable]:
    return [] if has_ratios(subject) else tables.rounds_to_target(subject)


OFFERS: dict[Display, Offer] = {
    "curves": Offer(lambda subject: True, views=compare_views.curves),
    "overlays": Offer(overlaid, views=compare_views.overlays),
    "rounds-table": Offer(steady, tables=tables.rounds_table),
    "stability-table": Offer(steady, tables=tables.stability_table),
    "final-table": Offer(varied, tables=tables.final_table),
    "against-ratio": Offer(has_ratios, views=compare_views.against_ratio),
    "rounds-to-target": Offer(varied, views=ratio_charts, tables=target_tables),
    "swap-moments": Offer(swapping, charts=("swap-moments",)),
    "traffic": Offer(few_strategies, charts=("traffic",), tables=tables.convergence),
    "detectors": Offer(detecting, charts=("detectors", "detectors-together")),
    "final-bars": Offer(few_strategies, charts=("final-bars",)),
    "sizes": Offer(several_models, charts=("sizes",)),
    "groups": Offer(grouped, tables=tables.groups),
    "holdings": Offer(lambda subject: True),
}
