"""The charts of Compare by name, each from a selection and its choices: one list for pages, downloads and REST."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from experiments.charts.chart import EMPTY_FIGURE, Chart, DataTable, empty_chart
from experiments.charts.confusion import (
    MOST_MATRICES,
    confusion_description,
    confusions_figure,
    confusions_table,
    sum_confusions,
)
from experiments.charts.smoothing import line_option_notes
from experiments.charts.styles import CellStyle, add_panels, add_setting_panels, cell_styles
from experiments.compare.baseline import LAST_ROUND, beside_baseline
from experiments.compare.charts.against import (
    against_description,
    against_figure,
    against_info,
    against_legend,
    against_notes,
    against_table,
)
from experiments.compare.charts.cost import (
    pareto_description,
    pareto_figure,
    pareto_info,
    pareto_legend,
    pareto_notes,
    pareto_table,
)
from experiments.compare.charts.critical_difference import (
    critical_difference_description,
    critical_difference_figure,
    critical_difference_info,
    critical_difference_notes,
    critical_difference_table,
)
from experiments.compare.charts.curves import (
    SHARED_TIME_NOTE,
    X_AXES,
    CompareCurvesInfo,
    compare_curves_description,
    compare_curves_figure,
    compare_curves_info,
    compare_curves_legend,
    compare_curves_notes,
    page_note,
    panel_page,
)
from experiments.compare.charts.fairness import (
    ClientSpread,
    fairness_description,
    fairness_figure,
    fairness_info,
    fairness_legend,
    fairness_table,
)
from experiments.compare.charts.heat_map import heat_description, heat_figure, heat_info, heat_notes, heat_table
from experiments.compare.charts.pivot_table import PivotTable, pivot_data, pivot_table
from experiments.compare.charts.published_marks import (
    PUBLISHED_NOTE,
    PublishedMark,
    add_published_marks,
    against_published_marks,
    curve_published_marks,
    published_marks_text,
)
from experiments.compare.charts.significance import (
    PairInfo,
    SignificanceInfo,
    forest_description,
    forest_figure,
    forest_notes,
    friedman_words,
    significance_info,
    significance_table,
)
from experiments.compare.charts.values import ValueChoice, compared_axis, lost_note, value_label
from experiments.compare.choices import Choices, Tab
from experiments.compare.samples import Samples, one_column, run_values, samples_by_cell, samples_of, spent_samples
from experiments.compare.selection import Selection
from experiments.compare.selectors.cells import SelectedCell
from experiments.compare.selectors.clients import client_accuracies, confusion_matrices
from experiments.labels.axes import axis_plural
from experiments.labels.metrics import metric_label
from experiments.labels.names import axis_title
from experiments.labels.specs import class_names
from experiments.models import Run
from experiments.presets.marks import PublishedByCell, mark_of_value, marks_on_curve, published_by_cell
from experiments.presets.selectors import full_specs, study_preset
from experiments.results.charts import clients as client_charts
from experiments.results.selectors.clients import client_history, clients_of
from experiments.statistics.curves import curve_statistics
from experiments.statistics.over_seeds import Sample, SeedStatistics, ended_seeds, exact_sum


def curves_chart(selection: Selection, choices: Choices) -> Chart:
    label, all_styles = metric_label(choices.metric), selection.cell_styles(choices)
    page = panel_page(all_styles, choices.page)
    styles = {cell: all_styles[cell] for cell in page.cells}
    points = curve_statistics(
        cells={cell.key: [run.pk for run in cell.runs] for cell in selection.cells if cell.key in styles},
        metric=choices.metric,
        spent=choices.x.spent,
        adds_up=choices.x.adds_up,
        with_values=choices.band == "boot",
    )
    info = compare_curves_info(
        points,
        styles,
        label,
        x=choices.x,
        band=choices.band,
        target=choices.value.target,
        narrow=choices.narrow,
        own_x=choices.line_options.own_x,
    )
    figure = compare_curves_figure(info, choices.line_options)
    published_marks = (
        curve_published_marks(info, styles, published_on_curves(selection, choices)) if info.curves else []
    )
    notes = [
        page_note(page, panels_text(selection, choices)),
        compare_curves_notes(info),
        line_option_notes(figure, choices.line_options),
        PUBLISHED_NOTE if published_marks else "",
    ]
    return Chart(
        f"{label.text} over {choices.x.plain}",
        add_published_marks(figure, published_marks),
        compare_curves_description(info) + published_marks_text(published_marks),
        lambda: curve_table(selection, info, points),
        " · ".join(note for note in notes if note),
        compare_curves_legend(info, target_notes(selection, choices, styles)),
        empty="The first curve appears with the first evaluated round.",
        page=(page.number, page.pages),
    )


def panels_text(selection: Selection, choices: Choices) -> str:
    """What the panels are of: "strategies", or "panels" where two axes make them."""
    style_axes = add_panels(selection.axes, choices.style_axes, len(selection.cells))
    axes = [axis for axis in (style_axes.row, style_axes.column) if axis in selection.axes]
    return axis_plural(axes[0]) if len(axes) == 1 else "panels"


def target_notes(selection: Selection, choices: Choices, styles: dict[str, CellStyle]) -> dict[str, str]:
    """By label: after how many rounds the target was met, where one is set; not where panels differ in it."""
    target = choices.value.target
    if target is None:
        return {}
    rounds_to_target = ValueChoice("rounds", target=target)
    runs = {run.pk: run for cell in selection.cells if cell.key in styles for run in cell.runs}
    notes_by_label: dict[str, list[str]] = {}
    values = run_values(list(runs), choices.metric, rounds_to_target)
    for (cell, _), sample in samples_by_cell(values, runs).items():
        notes_by_label.setdefault(styles[cell].line.label, []).append(target_note(sample))
    return {name: notes[0] if len(notes) == 1 else "" for name, notes in notes_by_label.items()}


def target_note(sample: Sample) -> str:
    if sample.mean is None:
        return "never at the target"
    few = "" if sample.complete else f" ({sample.n} of {len(sample.every_seed)} seeds)"
    return f"target after {sample.mean:.1f}".removesuffix(".0") + f" rounds{few}"


def curve_table(selection: Selection, info: CompareCurvesInfo, points: Sequence[SeedStatistics]) -> DataTable:
    x_column = (info.x.name,) if info.x.spent else ()
    columns = ("cell", *selection.slugs, "round", *x_column, "mean", "std", "low", "high", "n", "lost", "missed")
    rows = tuple(
        (
            point.cell,
            *(words[point.cell] for words in selection.slugs.values()),
            point.round,
            *((point.x,) if x_column else ()),
            *(point.mean, point.std, point.low, point.high, point.n, point.lost, point.missed),
        )
        for point in points
    )
    return DataTable(columns, rows)


def against_field(selection: Selection, choices: Choices) -> str:
    if choices.against in selection.fields:
        return choices.against
    return selection.default_field(compared_axis(selection.axes, choices.compared))


def against_chart(selection: Selection, choices: Choices) -> Chart:
    label = value_label(metric_label(choices.metric), choices.value)
    field = against_field(selection, choices)
    if not field:
        return empty_chart(label.text, "Nothing varies but the seed: there is no axis to draw against.")
    axis_values = selection.field_values(field)
    specs = {cell: spec for cell, spec in selection.specs.items() if cell in axis_values}
    axes = selection.axes_without(field)
    styles = cell_styles(specs, axes, add_setting_panels(axes, choices.style_axes))
    samples = one_column(samples_of(selection, choices), choices.value)
    without = len(selection.cells) - len(specs)
    info = against_info(
        styles,
        axis_values,
        samples,
        label,
        axis=field,
        band=choices.band,
        cells_without=without,
        narrow=choices.narrow,
    )
    published_marks = against_published_marks(
        info, styles, axis_values, published_beside_values(selection, choices.metric, choices.value)
    )
    return Chart(
        f"{label.text} against {axis_title(field)}",
        add_published_marks(against_figure(info), published_marks),
        against_description(info) + published_marks_text(published_marks),
        lambda: against_table(info),
        " · ".join(note for note in (against_notes(info), PUBLISHED_NOTE if published_marks else "") if note),
        against_legend(info),
        empty=no_values_text(choices),
    )


def no_values_text(choices: Choices) -> str:
    value = choices.value
    if value.to_target and value.target is None:
        return "Set a target above to see what it takes to reach it."
    if value.kind == "at" and not value.at:
        return "Name the rounds to look at."
    return "Values appear with the first finished runs."


def heat_chart(selection: Selection, choices: Choices) -> Chart:
    label = value_label(metric_label(choices.metric), choices.value)
    first, second = against_field(selection, choices), choices.second
    if second not in selection.fields or second == first:
        return empty_chart(label.text, "Choose a second axis to see a map.")
    rest = selection.axes_without(first, second)
    x_values, y_values = selection.field_values(first), selection.field_values(second)
    words = {cell: " · ".join(axis[cell] for axis in rest.values()) for cell in x_values if cell in y_values}
    samples = one_column(samples_of(selection, choices), choices.value)
    info = heat_info(words, x_values, y_values, samples, label, (first, second))
    return Chart(
        f"{label.text} over {axis_title(first)} and {axis_title(second)}",
        heat_figure(info, narrow=choices.narrow),
        heat_description(info),
        lambda: heat_table(info),
        heat_notes(info),
        empty=no_values_text(choices),
    )


def selection_table(selection: Selection, choices: Choices, samples: Samples) -> PivotTable:
    label = value_label(metric_label(choices.metric), choices.value)
    compared = compared_axis(selection.axes, choices.compared)
    cells = [cell.key for cell in selection.cells]
    return pivot_table(cells, selection.axes, samples, label, choices.value, across=choices.across, compared=compared)


def pivot_chart(selection: Selection, choices: Choices) -> Chart:
    """The pivot table's numbers in tidy form."""
    samples = samples_of(selection, choices)
    table = selection_table(selection, choices, samples)
    cells, higher = [cell.key for cell in selection.cells], table.label.higher_is_better
    return Chart(
        table.label.text,
        EMPTY_FIGURE,
        table.label.axis,
        lambda: pivot_data(cells, selection.slugs, samples, compared=table.compared, higher=higher),
    )


def selection_significance(selection: Selection, choices: Choices) -> SignificanceInfo:
    label = value_label(metric_label(choices.metric), choices.value)
    samples = one_column(samples_of(selection, choices), choices.value)
    compared = compared_axis(selection.axes, choices.compared)
    return significance_info([cell.key for cell in selection.cells], selection.axes, samples, label, compared)


def chosen_pair(info: SignificanceInfo, selection: Selection, choices: Choices) -> PairInfo | None:
    first, second = (selection.word_of(info.compared, slug) for slug in choices.pair)
    return info.pair(first, second) or next((pair for pair in info.pairs if pair.settings), None)


def forest_chart(selection: Selection, choices: Choices) -> Chart:
    info = selection_significance(selection, choices)
    pair = chosen_pair(info, selection, choices)
    if pair is None:
        return empty_chart(
            "Difference", "There is nothing to compare: choose cells that differ in an axis and share a setting."
        )
    return Chart(
        f"{pair.first} against {pair.second}",
        forest_figure(pair, info.label, narrow=choices.narrow),
        forest_description(pair, info.label),
        lambda: significance_table(info),
        forest_notes(pair),
        empty="They share no seed in any setting.",
    )


def ranks_chart(selection: Selection, choices: Choices) -> Chart:
    significance = selection_significance(selection, choices)
    info = critical_difference_info(significance)
    if info is None:
        return empty_chart("Mean ranks", friedman_words(significance))
    return Chart(
        f"Mean ranks over settings: {significance.label.text}",
        critical_difference_figure(info, narrow=choices.narrow),
        critical_difference_description(info),
        lambda: critical_difference_table(info),
        critical_difference_notes(info),
    )


def cost_chart(selection: Selection, choices: Choices, axis: str) -> Chart:
    label, x = value_label(metric_label(choices.metric), choices.value), X_AXES[axis]
    values = one_column(samples_of(selection, choices), choices.value)
    spent = spent_samples(selection, x.spent, choices.value)
    info = pareto_info(selection.styles_by_data_set(choices), values, spent, label, x, narrow=choices.narrow)
    return Chart(
        f"{label.text} against {x.text.lower()}",
        pareto_figure(info),
        pareto_description(info),
        lambda: pareto_table(info),
        " · ".join(filter(None, [pareto_notes(info), SHARED_TIME_NOTE if axis == "seconds" else ""])),
        pareto_legend(info),
        empty=no_values_text(choices),
    )


def cost_bytes_chart(selection: Selection, choices: Choices) -> Chart:
    return cost_chart(selection, choices, "bytes")


def cost_seconds_chart(selection: Selection, choices: Choices) -> Chart:
    return cost_chart(selection, choices, "seconds")


def cost_cpu_chart(selection: Selection, choices: Choices) -> Chart:
    return cost_chart(selection, choices, "cpu")


def client_spreads(
    selection: Selection, choices: Choices, accuracies_by_run: Mapping[int, Sequence[float]]
) -> tuple[ClientSpread, ...]:
    accuracies_by_cell = {
        cell.key: [mean_of_clients(runs) for runs in values_by_seed(cell, accuracies_by_run).values()]
        for cell in selection.cells
        if any(run.pk in accuracies_by_run for run in cell.runs)
    }
    styles = selection.styles_by_setting(choices)
    return fairness_info({cell: styles[cell] for cell in accuracies_by_cell}, accuracies_by_cell)


def values_by_seed(cell: SelectedCell, values_by_run: Mapping[int, Any]) -> dict[int, list[Any]]:
    seeds: dict[int, list[Any]] = {}
    for run in cell.runs:
        if run.pk in values_by_run:
            seeds.setdefault(run.seed, []).append(values_by_run[run.pk])
    return seeds


def mean_of_clients(runs: Sequence[Sequence[float]]) -> list[float]:
    """Of the runs of one seed, in which a client holds the same data; the first, should their clients differ."""
    if len({len(run) for run in runs}) > 1:
        return list(runs[0])
    return [exact_sum(values) / len(runs) for values in zip(*runs, strict=True)]


def fairness_chart(selection: Selection, choices: Choices) -> Chart:
    accuracies_by_run = client_accuracies(runs=list(selection.runs))
    spreads = client_spreads(selection, choices, accuracies_by_run)
    return Chart(
        "Accuracies of clients",
        fairness_figure(spreads, choices.shape, narrow=choices.narrow),
        fairness_description(spreads),
        lambda: fairness_table(spreads),
        fairness_notes(selection, accuracies_by_run),
        fairness_legend(spreads),
        empty="Single clients were not evaluated: launch with evaluation on clients.",
    )


def fairness_notes(selection: Selection, accuracies_by_run: Mapping[int, Any]) -> str:
    """Of how many seeds of cells whose clients were evaluated no client is there."""
    measured_cells = [(cell, seeds) for cell in selection.cells if (seeds := values_by_seed(cell, accuracies_by_run))]
    missed = sum(
        len(ended_seeds((run.seed, run.state) for run in cell.runs) - set(seeds)) for cell, seeds in measured_cells
    )
    notes = ["All clients of all seeds at the last evaluated round" if measured_cells else "", lost_note(0, missed)]
    return " · ".join(filter(None, notes))


def client_rounds_chart(selection: Selection, choices: Choices) -> Chart:
    """One run's clients over its rounds: clients of different seeds hold different data."""
    pk = choices.run if choices.run in selection.runs else next(iter(selection.runs), 0)
    run = Run.objects.filter(pk=pk).first()
    if run is None:
        return empty_chart("Clients over rounds", "Choose a run.")
    everyone = clients_of(run=pk)
    rounds = client_charts.evenly_spaced(range(run.rounds_done + 1), client_charts.MOST_ROUNDS)
    clients = client_charts.evenly_spaced(everyone, client_charts.MOST_CLIENTS)
    history = client_history(run=pk, name="accuracy", rounds=rounds, clients=clients)
    info = client_charts.clients_info(
        "accuracy", history, rounds=rounds, client_total=len(everyone), last_round=run.rounds_done
    )
    return Chart(
        f"Clients of run {pk} over rounds",
        client_charts.clients_figure(info),
        client_charts.clients_description(info),
        lambda: client_charts.clients_table(info),
        client_charts.clients_notes(info),
        client_charts.clients_legend(info),
        empty="This run has no accuracies of single clients.",
    )


def confusion_chart(selection: Selection, choices: Choices) -> Chart:
    """Seeds of a cell together, six cells a page; of a seed that was computed again, the first."""
    matrices_by_run, styles, infos = (
        confusion_matrices(runs=list(selection.runs)),
        selection.styles_without_panels(choices),
        {},
    )
    for cell in selection.cells:
        matrices = [runs[0] for runs in values_by_seed(cell, matrices_by_run).values()]
        info = sum_confusions(matrices, class_names(cell.spec, len(matrices[0]))) if matrices else None
        if info is not None:
            infos[styles[cell.key].whole_label] = info
    pages = max(1, -(-len(infos) // MOST_MATRICES))
    page = min(max(1, choices.page), pages)
    drawn_infos = dict(list(infos.items())[(page - 1) * MOST_MATRICES : page * MOST_MATRICES])
    descriptions = " ".join(f"{label}: {confusion_description(info)}" for label, info in drawn_infos.items())
    others = len(infos) - len(drawn_infos)
    left = f" · {others} of {len(infos)} cells are on other pages" if others else ""
    return Chart(
        "Confusion matrices",
        confusions_figure(drawn_infos, narrow=choices.narrow),
        descriptions or "No finished run has a confusion matrix.",
        lambda: confusions_table(infos),
        f"Seeds of a cell together; colour: share of the true class{left}" if infos else "",
        empty="Confusion matrices appear with the first finished runs.",
        page=(page, pages),
    )


CHART_BUILDERS: dict[str, Callable[[Selection, Choices], Chart]] = {
    "curves": beside_baseline(curves_chart, lambda _: LAST_ROUND),
    "against": beside_baseline(against_chart, lambda choices: choices.value),
    "map": heat_chart,
    "table": pivot_chart,
    "difference": forest_chart,
    "ranks": ranks_chart,
    "cost-bytes": cost_bytes_chart,
    "cost-seconds": cost_seconds_chart,
    "cost-cpu": cost_cpu_chart,
    "clients": fairness_chart,
    "client-rounds": client_rounds_chart,
    "confusion": confusion_chart,
}
CHARTS_BY_TAB: dict[Tab, tuple[str, ...]] = {
    "overview": ("curves", "against", "map", "table"),
    "better": ("ranks", "difference"),
    "cost": ("cost-bytes", "cost-seconds", "cost-cpu"),
    "clients": ("clients", "client-rounds", "confusion"),
    "specs": (),
}


def published_of_selection(selection: Selection) -> PublishedByCell:
    """By cell; none for runs that were selected without a study."""
    published: PublishedByCell = {}
    presets = {preset.name: preset for study in selection.studies if (preset := study_preset(study))}
    for preset in presets.values():
        for cell, printed in published_by_cell(preset, selection.specs, cache(partial(full_specs, preset))).items():
            published.setdefault(cell, []).extend(printed)
    return published


def published_on_curves(selection: Selection, choices: Choices) -> dict[str, list[PublishedMark]]:
    return {
        cell: marks_on_curve(printed, choices.metric, selection.specs[cell]["rounds"])
        for cell, printed in published_of_selection(selection).items()
    }


def published_beside_values(selection: Selection, metric: str, value: ValueChoice) -> Mapping[str, PublishedMark]:
    marks = {cell: mark_of_value(printed, metric, value) for cell, printed in published_of_selection(selection).items()}
    return {cell: mark for cell, mark in marks.items() if mark}
