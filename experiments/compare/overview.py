"""Curves, a value against an axis, a map over two, and the table."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.charts.against import (
    against_description,
    against_figure,
    against_info,
    against_legend,
    against_notes,
    against_table,
)
from experiments.charts.compare_curves import (
    CompareCurvesInfo,
    compare_curves_description,
    compare_curves_figure,
    compare_curves_info,
    compare_curves_notes,
    compare_legend,
)
from experiments.charts.diamonds import NOTE, against_diamonds, curve_diamonds, told, with_diamonds
from experiments.charts.drawing import drawing_notes
from experiments.charts.heat import heat_description, heat_figure, heat_info, heat_table
from experiments.charts.intervals import Sample
from experiments.charts.labels import axis_title
from experiments.charts.metrics import metric_label
from experiments.charts.pivot_table import PivotTable, pivot_data, pivot_table
from experiments.charts.placing import Placed, placed
from experiments.charts.tables import Table
from experiments.charts.values import Wanted, compared_axis, value_label
from experiments.compare.choices import Choices
from experiments.compare.drawn import BARE, Drawn, nothing
from experiments.compare.picked import Picked
from experiments.compare.published import curve_marks, value_marks
from experiments.compare.samples import Samples, gathered, one_column, run_values, samples_of
from experiments.selectors.compare.curves import CurveStatistics, curves_of

DRAWN = 40
"""As many lines as can still be told apart with panels, hues and dashes."""


def curves(picked: Picked, choices: Choices) -> Drawn:
    label, shown = metric_label(choices.metric), picked.cells[:DRAWN]
    everywhere = picked.places(choices)
    places = {cell.key: everywhere[cell.key] for cell in shown}
    points = curves_of(
        cells={cell.key: [run.pk for run in cell.runs] for cell in shown},
        metric=choices.metric,
        spent=choices.x.spent,
        with_values=choices.band == "boot",
    )
    info = compare_curves_info(
        points,
        places,
        label,
        x=choices.x,
        band=choices.band,
        target=choices.wanted.target,
        narrow=choices.narrow,
    )
    figure = compare_curves_figure(info, choices.drawing)
    diamonds = curve_diamonds(info, places, curve_marks(picked, choices)) if info.curves else []
    notes = [
        compare_curves_notes(info, drawn=len(shown), cells=len(picked.cells)),
        drawing_notes(figure, choices.drawing),
        NOTE if diamonds else "",
    ]
    return Drawn(
        f"{label.text} over {choices.x.plain}",
        with_diamonds(figure, diamonds),
        compare_curves_description(info) + told(diamonds),
        lambda: curve_table(picked, info, points),
        " · ".join(note for note in notes if note),
        compare_legend(info, reached_words(picked, choices, places)),
        empty="The first curve appears with the first evaluated round.",
    )


def reached_words(picked: Picked, choices: Choices, places: dict[str, Placed]) -> dict[str, str]:
    """By label: after how many rounds the target was met, where one is set; not where panels differ in it."""
    target = choices.wanted.target
    if target is None:
        return {}
    wanted = Wanted("rounds", target=target)
    runs = [run.pk for cell in picked.cells if cell.key in places for run in cell.runs]
    found: dict[str, list[str]] = {}
    for (cell, _), sample in gathered(run_values(runs, choices.metric, wanted), picked.runs).items():
        found.setdefault(places[cell].style.label, []).append(reached_text(sample))
    return {name: words[0] if len(words) == 1 else "" for name, words in found.items()}


def reached_text(sample: Sample) -> str:
    if sample.mean is None:
        return "never at the target"
    few = f" ({sample.n} of {sample.n + sample.missed} seeds)" if sample.missed else ""
    return f"target after {sample.mean:.1f}".removesuffix(".0") + f" rounds{few}"


def curve_table(picked: Picked, info: CompareCurvesInfo, points: Sequence[CurveStatistics]) -> Table:
    own_x = (info.x.name,) if info.x.spent else ()
    columns = ("cell", *picked.axes, "round", *own_x, "mean", "std", "low", "high", "n", "lost")
    rows = tuple(
        (
            point.cell,
            *(words[point.cell] for words in picked.axes.values()),
            point.round,
            *((point.x,) if own_x else ()),
            *(point.mean, point.std, point.low, point.high, point.n, point.lost),
        )
        for point in points
    )
    return Table(columns, rows)


def against_field(picked: Picked, choices: Choices) -> str:
    """The field chosen; otherwise a number, and of those not what is compared."""
    if choices.against in picked.fields:
        return choices.against
    compared = compared_axis(picked.axes, choices.compared)
    return next((field for field in picked.fields if not field.startswith(compared)), next(iter(picked.fields), ""))


def against(picked: Picked, choices: Choices) -> Drawn:
    label = value_label(metric_label(choices.metric), choices.wanted)
    field = against_field(picked, choices)
    if not field:
        return nothing(label.text, "Nothing varies but the seed: there is no axis to draw against.")
    on_axis = picked.on_field(field)
    specs = {cell: spec for cell, spec in picked.specs.items() if cell in on_axis}
    places = placed(specs, picked.axes_without(field), choices.placing)
    samples = one_column(samples_of(picked, choices), choices.wanted)
    without = len(picked.cells) - len(specs)
    info = against_info(places, on_axis, samples, label, axis=field, band=choices.band, without=without)
    diamonds = against_diamonds(info, places, on_axis, value_marks(picked, choices.metric, choices.wanted))
    return Drawn(
        f"{label.text} against {axis_title(field)}",
        with_diamonds(against_figure(info), diamonds),
        against_description(info) + told(diamonds),
        lambda: against_table(info),
        " · ".join(note for note in (against_notes(info), NOTE if diamonds else "") if note),
        against_legend(info),
        empty=missing_words(choices),
    )


def missing_words(choices: Choices) -> str:
    wanted = choices.wanted
    if wanted.to_target and wanted.target is None:
        return "Set a target above to see what it takes to reach it."
    if wanted.kind == "at" and not wanted.at:
        return "Name the rounds to look at."
    return "Values appear with the first finished runs."


def heat(picked: Picked, choices: Choices) -> Drawn:
    label = value_label(metric_label(choices.metric), choices.wanted)
    first, second = against_field(picked, choices), choices.second
    if second not in picked.fields or second == first:
        return nothing(label.text, "Choose a second axis to see a map.")
    rest = picked.axes_without(first, second)
    on_x, on_y = picked.on_field(first), picked.on_field(second)
    words = {cell: " · ".join(axis[cell] for axis in rest.values()) for cell in on_x if cell in on_y}
    samples = one_column(samples_of(picked, choices), choices.wanted)
    info = heat_info(words, on_x, on_y, samples, label, (first, second))
    return Drawn(
        f"{label.text} over {axis_title(first)} and {axis_title(second)}",
        heat_figure(info, narrow=choices.narrow),
        heat_description(info),
        lambda: heat_table(info),
        "Means over seeds",
        empty=missing_words(choices),
    )


def table_of(picked: Picked, choices: Choices, samples: Samples) -> PivotTable:
    label = value_label(metric_label(choices.metric), choices.wanted)
    compared = compared_axis(picked.axes, choices.compared)
    cells = [cell.key for cell in picked.cells]
    return pivot_table(cells, picked.axes, samples, label, choices.wanted, across=choices.across, compared=compared)


def pivot(picked: Picked, choices: Choices) -> Drawn:
    """The pivot table's numbers in tidy form."""
    samples = samples_of(picked, choices)
    table = table_of(picked, choices, samples)
    cells, higher = [cell.key for cell in picked.cells], table.label.higher_is_better
    return Drawn(
        table.label.text,
        BARE,
        table.label.axis,
        lambda: pivot_data(cells, picked.axes, samples, compared=table.compared, higher=higher),
    )
