"""Displays that are charts of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from django.http import QueryDict

from experiments.charts.chart import Drawn, Table
from experiments.charts.smoothing import Drawing
from experiments.charts.styles import HUES, Placed, Style, dash
from experiments.compare.chart_builders import DRAWN, printed_in, value_marks
from experiments.compare.charts.curves import (
    CompareCurvesInfo,
    compare_curves_description,
    compare_curves_figure,
    compare_curves_info,
    compare_curves_notes,
    compare_legend,
)
from experiments.compare.charts.published_marks import (
    NOTE,
    Diamond,
    bar_diamonds,
    curve_diamonds,
    with_diamonds,
)
from experiments.compare.charts.values import Wanted
from experiments.compare.choices import choices_of
from experiments.compare.displays.bars import (
    BarsInfo,
    bars_description,
    bars_figure,
    bars_info,
    bars_legend,
    bars_notes,
    bars_table,
    sizes_info,
    stacked_info,
)
from experiments.compare.displays.subject import Subject
from experiments.compare.displays.swap_moments import marks, marks_note, moments
from experiments.compare.samples import one_column, samples_of, spent_samples
from experiments.labels.metrics import DETECTORS, MetricLabel, metric_label, share
from experiments.presets.marks import on_curve
from experiments.statistics.over_seeds import CurveStatistics, curves_of

TOTAL = MetricLabel("bytes", "Traffic of all rounds", "MB", 1e-6, 2)
TRAFFIC = {"Upload": "bytes_up", "Download": "bytes_down", "Client to client": "bytes_peer"}
BESIDE = {"accuracy": "all detectors together (the surest decides)", DETECTORS: "mean of the detectors"}


def swap_moments(subject: Subject) -> Drawn:
    """A panel for each data set."""
    places = dict(list(subject.placed(column="dataset").items())[:DRAWN])
    points = curves_of(cells=runs_by_cell(subject, places), metric="accuracy")
    info = compare_curves_info(points, places, metric_label("accuracy"), narrow=subject.narrow)
    rounds = {cell.key: cell.spec["rounds"] for cell in subject.picked.cells}
    found = {
        places[cell].style.label: own
        for cell, spec in subject.picked.specs.items()
        if cell in places and (own := moments(spec["strategy"], rounds[cell]))
    }
    drawn = curves_drawn("Swap and average moments", info, points, places)
    figure = {**drawn.figure, "data": [*drawn.figure["data"], *marks(info, found)]}
    notes = [marks_note(found), compare_curves_notes(info, drawn=len(places), cells=len(subject.picked.cells))]
    return replace(drawn, figure=figure, notes=" · ".join(filter(None, notes)))


def detectors(subject: Subject) -> Drawn:
    names = [name for name in subject.metrics if name.startswith(f"{DETECTORS}.")]
    words = {name: name.removeprefix(f"{DETECTORS}.") for name in names}
    drawn = several("Accuracy of each class's detector", subject, words, first=1)
    return replace(drawn, notes=" · ".join(filter(None, [drawn.notes, "from round 1 on"])))


def detectors_together(subject: Subject) -> Drawn:
    return several("All detectors together beside their mean", subject, BESIDE)


def several(title: str, subject: Subject, words: Mapping[str, str], *, first: int = 0) -> Drawn:
    """Several metrics in one chart from that round on, a panel for each cell that has detectors."""
    cells = [cell for cell in subject.picked.cells if cell.spec["strategy"]["name"] == "athena"]
    panels = own_words(subject, [cell.key for cell in cells])
    points: list[CurveStatistics] = []
    places: dict[str, Placed] = {}
    diamonds: dict[str, list[Diamond]] = {}
    printed = printed_in(subject.picked)
    for hue, (metric, word) in enumerate(words.items()):
        style = Style(word, hue % HUES, dash(hue // HUES))
        for cell in cells:
            places[f"{cell.key} {metric}"] = Placed(style, "", panels[cell.key])
            own = on_curve(printed.get(cell.key, ()), metric, cell.spec["rounds"])
            diamonds[f"{cell.key} {metric}"] = own
        found = curves_of(cells={cell.key: [run.pk for run in cell.runs] for cell in cells}, metric=metric)
        points += [point._replace(cell=f"{point.cell} {metric}") for point in found if point.round >= first]
    info = compare_curves_info(points, places, share("", "Accuracy"), narrow=subject.narrow)
    return curves_drawn(title, info, points, places, diamonds)


def own_words(subject: Subject, cells: Sequence[str]) -> dict[str, str]:
    """What tells each of these cells from the others; nothing for a single one."""
    axes = [words for words in subject.told.values() if len({words[cell] for cell in cells}) > 1]
    return {cell: " · ".join(words[cell] for words in axes) for cell in cells}


def curves_drawn(
    title: str,
    info: CompareCurvesInfo,
    points: Iterable[CurveStatistics],
    places: Mapping[str, Placed],
    diamonds: Mapping[str, Sequence[Diamond]] = MappingProxyType({}),
) -> Drawn:
    drawn = curve_diamonds(info, places, diamonds)
    notes = [compare_curves_notes(info, drawn=0, cells=0), NOTE if drawn else ""]
    columns = ("line", "round", "mean", "std", "n", "lost")
    return Drawn(
        title,
        with_diamonds(compare_curves_figure(info, Drawing()), drawn),
        compare_curves_description(info),
        lambda: Table(columns, tuple((p.cell, p.round, p.mean, p.std, p.n, p.lost) for p in points)),
        " · ".join(filter(None, notes)),
        compare_legend(info, {}),
    )


def runs_by_cell(subject: Subject, places: Mapping[str, Placed]) -> dict[str, list[int]]:
    return {cell.key: [run.pk for run in cell.runs] for cell in subject.picked.cells if cell.key in places}


def traffic(subject: Subject) -> Drawn:
    parts = {text: spent_samples(subject.picked, [name], Wanted()) for text, name in TRAFFIC.items()}
    return bars_drawn(subject, stacked_info(subject.places, parts, TOTAL), "Traffic of all rounds")


def final_bars(subject: Subject) -> Drawn:
    samples = one_column(samples_of(subject.picked, choices_of(QueryDict())), Wanted())
    info = bars_info(subject.places, samples, metric_label("accuracy"))
    diamonds = bar_diamonds(info, subject.places, value_marks(subject.picked, "accuracy", Wanted()))
    drawn = bars_drawn(subject, info, "Final accuracy")
    notes = " · ".join(filter(None, [drawn.notes, NOTE if diamonds else ""]))
    return replace(drawn, figure=with_diamonds(dict(drawn.figure), diamonds), notes=notes)


def sizes(subject: Subject) -> Drawn:
    return bars_drawn(subject, sizes_info(subject.picked.specs), "Sizes of the models")


def bars_drawn(subject: Subject, info: BarsInfo, title: str) -> Drawn:
    legend = bars_legend(info) if len(info.parts) > 1 else []
    figure = bars_figure(info, narrow=subject.narrow)
    return Drawn(title, figure, bars_description(info), lambda: bars_table(info), bars_notes(info), legend)


CHARTS: dict[str, Callable[[Subject], Drawn]] = {
    "swap-moments": swap_moments,
    "traffic": traffic,
    "detectors": detectors,
    "detectors-together": detectors_together,
    "final-bars": final_bars,
    "sizes": sizes,
}
TITLES = {
    "swap-moments": "Accuracy with swap and average moments",
    "traffic": "Traffic",
    "detectors": "Accuracy of each class's detector",
    "detectors-together": "All detectors together beside their mean",
    "final-bars": "Final accuracy",
    "sizes": "Sizes of the models",
}
