"""Displays that are charts of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from django.http import QueryDict

from experiments.charts.chart import Chart, DataTable, empty_chart
from experiments.charts.smoothing import LineOptions
from experiments.charts.styles import HUES, CellStyle, LineStyle, dash_at
from experiments.client_data.charts import held_description, held_figure, held_info, held_title
from experiments.client_data.services import distribution_or_request
from experiments.compare.chart_builders import published_beside_values, published_of_selection
from experiments.compare.charts.bars import (
    BarsInfo,
    bars_description,
    bars_figure,
    bars_info,
    bars_legend,
    bars_notes,
    bars_table,
    model_sizes_info,
    stacked_bars_info,
)
from experiments.compare.charts.curves import (
    CompareCurvesInfo,
    compare_curves_description,
    compare_curves_figure,
    compare_curves_info,
    compare_curves_legend,
    compare_curves_notes,
)
from experiments.compare.charts.published_marks import (
    PUBLISHED_NOTE,
    PublishedMark,
    add_published_marks,
    bar_published_marks,
    curve_published_marks,
)
from experiments.compare.charts.swap_moments import swap_moment_marks, swap_moments, swap_moments_note
from experiments.compare.charts.values import ValueChoice
from experiments.compare.choices import choices_of
from experiments.compare.displays.subject import Subject
from experiments.compare.samples import one_column, samples_of, spent_samples
from experiments.core.errors import PendingError
from experiments.labels.metrics import DETECTOR_ACCURACY, MetricLabel, metric_label, percent_label
from experiments.labels.names import method_slug
from experiments.presets.marks import marks_on_curve
from experiments.statistics.curves import curve_statistics
from experiments.statistics.over_seeds import SeedStatistics
from workers.client_data.assignment import federation_spec
from workers.spec import is_app

TRAFFIC_LABEL = MetricLabel("bytes", "Traffic of all rounds", "MB", 1e-6, 2)
TRAFFIC = {"Upload": "bytes_up", "Download": "bytes_down", "Client to client": "bytes_peer"}
TOGETHER = {"accuracy": "all detectors together (the surest decides)", DETECTOR_ACCURACY: "mean of the detectors"}


def swap_moments_chart(subject: Subject) -> Chart:
    """A panel for each data set."""
    styles = subject.styles_by_column(column="dataset")
    points = curve_statistics(cells=runs_by_cell(subject, styles), metric="accuracy")
    info = compare_curves_info(points, styles, metric_label("accuracy"), narrow=subject.narrow)
    moments_by_label = {
        styles[cell].line.label: moments
        for cell, spec in subject.selection.specs.items()
        if cell in styles and not is_app(spec) and (moments := swap_moments(spec["strategy"], spec["rounds"]))
    }
    chart = display_curves_chart("Swap and average moments", info, points, styles)
    figure = {**chart.figure, "data": [*chart.figure["data"], *swap_moment_marks(info, moments_by_label)]}
    notes = [
        swap_moments_note(moments_by_label),
        compare_curves_notes(info),
    ]
    return replace(chart, figure=figure, notes=" · ".join(filter(None, notes)))


def detectors_chart(subject: Subject) -> Chart:
    names = [name for name in subject.metrics if name.startswith(f"{DETECTOR_ACCURACY}.")]
    words = {name: name.removeprefix(f"{DETECTOR_ACCURACY}.") for name in names}
    chart = metrics_chart("Accuracy of each class's detector", subject, words, first=1)
    return replace(chart, notes=" · ".join(filter(None, [chart.notes, "from round 1 on"])))


def detectors_together_chart(subject: Subject) -> Chart:
    return metrics_chart("All detectors together beside their mean", subject, TOGETHER)


def metrics_chart(title: str, subject: Subject, words: Mapping[str, str], *, first: int = 0) -> Chart:
    """Several metrics in one chart from that round on, a panel for each cell that has detectors."""
    cells = [cell for cell in subject.selection.cells if method_slug(cell.spec) == "athena" and not is_app(cell.spec)]
    panels = panel_words(subject, [cell.key for cell in cells])
    points: list[SeedStatistics] = []
    styles: dict[str, CellStyle] = {}
    marks: dict[str, list[PublishedMark]] = {}
    published = published_of_selection(subject.selection)
    for hue, (metric, word) in enumerate(words.items()):
        line_style = LineStyle(word, hue % HUES, dash_at(hue // HUES))
        for cell in cells:
            styles[f"{cell.key} {metric}"] = CellStyle(line_style, "", panels[cell.key])
            cell_marks = marks_on_curve(published.get(cell.key, ()), metric, cell.spec["rounds"])
            marks[f"{cell.key} {metric}"] = cell_marks
        statistics = curve_statistics(cells={cell.key: [run.pk for run in cell.runs] for cell in cells}, metric=metric)
        points += [point._replace(cell=f"{point.cell} {metric}") for point in statistics if point.round >= first]
    info = compare_curves_info(points, styles, percent_label("", "Accuracy"), narrow=subject.narrow)
    return display_curves_chart(title, info, points, styles, marks)


def panel_words(subject: Subject, cells: Sequence[str]) -> dict[str, str]:
    """What tells each of these cells from the others; nothing for a single one."""
    axes = [words for words in subject.label_axes.values() if len({words[cell] for cell in cells}) > 1]
    return {cell: " · ".join(words[cell] for words in axes) for cell in cells}


def display_curves_chart(
    title: str,
    info: CompareCurvesInfo,
    points: Iterable[SeedStatistics],
    styles: Mapping[str, CellStyle],
    marks: Mapping[str, Sequence[PublishedMark]] = MappingProxyType({}),
) -> Chart:
    published_marks = curve_published_marks(info, styles, marks)
    notes = [compare_curves_notes(info), PUBLISHED_NOTE if published_marks else ""]
    columns = ("line", "round", "mean", "std", "n", "lost", "missed")
    return Chart(
        title,
        add_published_marks(compare_curves_figure(info, LineOptions()), published_marks),
        compare_curves_description(info),
        lambda: DataTable(columns, tuple((p.cell, p.round, p.mean, p.std, p.n, p.lost, p.missed) for p in points)),
        " · ".join(filter(None, notes)),
        compare_curves_legend(info, {}),
    )


def runs_by_cell(subject: Subject, styles: Mapping[str, CellStyle]) -> dict[str, list[int]]:
    return {cell.key: [run.pk for run in cell.runs] for cell in subject.selection.cells if cell.key in styles}


def traffic_chart(subject: Subject) -> Chart:
    parts = {text: spent_samples(subject.selection, [name], ValueChoice()) for text, name in TRAFFIC.items()}
    return bars_chart(subject, stacked_bars_info(subject.cell_styles, parts, TRAFFIC_LABEL), "Traffic of all rounds")


def final_bars_chart(subject: Subject) -> Chart:
    samples = one_column(samples_of(subject.selection, choices_of(QueryDict())), ValueChoice())
    info = bars_info(subject.cell_styles, samples, metric_label("accuracy"))
    published_marks = bar_published_marks(
        info, subject.cell_styles, published_beside_values(subject.selection, "accuracy", ValueChoice())
    )
    chart = bars_chart(subject, info, "Final accuracy")
    notes = " · ".join(filter(None, [chart.notes, PUBLISHED_NOTE if published_marks else ""]))
    return replace(chart, figure=add_published_marks(dict(chart.figure), published_marks), notes=notes)


def classes_held_chart(subject: Subject) -> Chart:
    return held_chart(subject, "classes")


def samples_held_chart(subject: Subject) -> Chart:
    return held_chart(subject, "samples")


def held_chart(subject: Subject, of: Literal["classes", "samples"]) -> Chart:
    """Of the study's first federation of natural clients."""
    flat = subject.selection.flat
    cell = next((cell for cell in subject.selection.cells if flat[cell.key].get("partition") == "natural"), None)
    if cell is None:
        return empty_chart(held_title(of), "No cell of this study has the data set's own clients.")
    try:
        distribution = distribution_or_request(federation_spec(cell.spec))
    except PendingError as error:
        return empty_chart(held_title(of), error.detail)
    info = held_info(distribution.held if of == "classes" else distribution.sizes, of)
    table = lambda: DataTable((of, "clients"), tuple(zip(info.names, info.clients, strict=True)))  # noqa: E731
    return Chart(held_title(of), held_figure(info), held_description(info), table, distribution.dataset)


def sizes_chart(subject: Subject) -> Chart:
    return bars_chart(subject, model_sizes_info(subject.selection.specs), "Sizes of the models")


def bars_chart(subject: Subject, info: BarsInfo, title: str) -> Chart:
    legend = bars_legend(info) if len(info.parts) > 1 else []
    figure = bars_figure(info, narrow=subject.narrow)
    return Chart(title, figure, bars_description(info), lambda: bars_table(info), bars_notes(info), legend)


DISPLAY_CHARTS: dict[str, Callable[[Subject], Chart]] = {
    "swap-moments": swap_moments_chart,
    "traffic": traffic_chart,
    "detectors": detectors_chart,
    "detectors-together": detectors_together_chart,
    "final-bars": final_bars_chart,
    "sizes": sizes_chart,
    "classes-held": classes_held_chart,
    "samples-held": samples_held_chart,
}
DISPLAY_CHART_TITLES = {
    "swap-moments": "Accuracy with swap and average moments",
    "traffic": "Traffic",
    "detectors": "Accuracy of each class's detector",
    "detectors-together": "All detectors together beside their mean",
    "final-bars": "Final accuracy",
    "sizes": "Sizes of the models",
    "classes-held": "Clients by the classes they hold",
    "samples-held": "Clients by the samples they hold",
}
