"""The charts of Compare by name, each from a selection and its choices: one list for pages, downloads and REST."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from experiments.charts.chart import BARE, Drawn, Table, nothing
from experiments.charts.confusion import MOST, confusion_description, confusions_figure, confusions_table, summed
from experiments.charts.smoothing import drawing_notes
from experiments.charts.styles import Placed, placed
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
from experiments.compare.charts.curves import (
    X_AXES,
    CompareCurvesInfo,
    compare_curves_description,
    compare_curves_figure,
    compare_curves_info,
    compare_curves_notes,
    compare_legend,
)
from experiments.compare.charts.fairness import (
    Spread,
    fairness_description,
    fairness_figure,
    fairness_info,
    fairness_legend,
    fairness_table,
)
from experiments.compare.charts.heat_map import heat_description, heat_figure, heat_info, heat_table
from experiments.compare.charts.pivot_table import PivotTable, pivot_data, pivot_table
from experiments.compare.charts.published_marks import (
    NOTE,
    Diamond,
    against_diamonds,
    curve_diamonds,
    told,
    with_diamonds,
)
from experiments.compare.charts.significance import (
    BetterInfo,
    PairInfo,
    better_info,
    better_table,
    forest_description,
    forest_figure,
    forest_notes,
)
from experiments.compare.charts.values import Wanted, compared_axis, value_label
from experiments.compare.choices import Choices, Tab
from experiments.compare.samples import Samples, gathered, one_column, run_values, samples_of, spent_samples
from experiments.compare.selection import Picked
from experiments.compare.selectors.clients import client_accuracies, confusions
from experiments.labels.axes import axis_title
from experiments.labels.metrics import metric_label
from experiments.labels.specs import class_names
from experiments.models import Run
from experiments.presets.marks import Marks, marks_of, of_value, on_curve
from experiments.presets.selectors import full_specs, preset_of
from experiments.results.charts import clients as client_charts
from experiments.results.selectors.clients import client_history, clients_of
from experiments.statistics.intervals import Sample
from experiments.statistics.over_seeds import CurveStatistics, curves_of

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


SPREADS = 12


def better(picked: Picked, choices: Choices) -> BetterInfo:
    label = value_label(metric_label(choices.metric), choices.wanted)
    samples = one_column(samples_of(picked, choices), choices.wanted)
    compared = compared_axis(picked.axes, choices.compared)
    return better_info([cell.key for cell in picked.cells], picked.axes, samples, label, compared)


def chosen_pair(info: BetterInfo, choices: Choices) -> PairInfo | None:
    first, second = choices.pair
    return info.pair(first, second) or next((pair for pair in info.pairs if pair.settings), None)


def forest(picked: Picked, choices: Choices) -> Drawn:
    info = better(picked, choices)
    pair = chosen_pair(info, choices)
    if pair is None:
        return nothing(
            "Difference", "There is nothing to compare: choose cells that differ in an axis and share a setting."
        )
    return Drawn(
        f"{pair.first} against {pair.second}",
        forest_figure(pair, info.label),
        forest_description(pair, info.label),
        lambda: better_table(info),
        forest_notes(pair),
        empty="They share no seed in any setting.",
    )


def cost(picked: Picked, choices: Choices, axis: str) -> Drawn:
    label, x = value_label(metric_label(choices.metric), choices.wanted), X_AXES[axis]
    values = one_column(samples_of(picked, choices), choices.wanted)
    spent = spent_samples(picked, x.spent, choices.wanted)
    info = pareto_info(picked.flat_places(choices), values, spent, label, x)
    return Drawn(
        f"{label.text} against {x.text.lower()}",
        pareto_figure(info),
        pareto_description(info),
        lambda: pareto_table(info),
        pareto_notes(info),
        pareto_legend(info),
        empty=missing_words(choices),
    )


def cost_bytes(picked: Picked, choices: Choices) -> Drawn:
    return cost(picked, choices, "bytes")


def cost_seconds(picked: Picked, choices: Choices) -> Drawn:
    return cost(picked, choices, "seconds")


def spreads(picked: Picked, choices: Choices) -> tuple[Spread, ...]:
    found = client_accuracies(runs=list(picked.runs))
    of_cells = {
        cell.key: [found[run.pk] for run in cell.runs if run.pk in found]
        for cell in picked.cells
        if any(run.pk in found for run in cell.runs)
    }
    shown = dict(list(of_cells.items())[:SPREADS])
    places = picked.flat_places(choices)
    return fairness_info({cell: places[cell] for cell in shown}, shown)


def fairness(picked: Picked, choices: Choices) -> Drawn:
    found = spreads(picked, choices)
    return Drawn(
        "Accuracies of clients",
        fairness_figure(found, choices.shape),
        fairness_description(found),
        lambda: fairness_table(found),
        "All clients of all seeds at the last evaluated round" if found else "",
        fairness_legend(found),
        empty="Single clients were not evaluated: launch with evaluation on clients.",
    )


def client_rounds(picked: Picked, choices: Choices) -> Drawn:
    """One run's clients over its rounds: clients of different seeds hold different data."""
    pk = choices.run if choices.run in picked.runs else next(iter(picked.runs), 0)
    run = Run.objects.filter(pk=pk).first()
    if run is None:
        return nothing("Clients over rounds", "Choose a run.")
    everyone = clients_of(run=pk)
    rounds = client_charts.evenly(range(run.rounds_done + 1), client_charts.MOST_ROUNDS)
    clients = client_charts.evenly(everyone, client_charts.MOST_CLIENTS)
    history = client_history(run=pk, name="accuracy", rounds=rounds, clients=clients)
    info = client_charts.clients_info(
        "accuracy", history, rounds=rounds, everyone=len(everyone), last_round=run.rounds_done
    )
    return Drawn(
        f"Clients of run {pk} over rounds",
        client_charts.clients_figure(info),
        client_charts.clients_description(info),
        lambda: client_table(info),
        client_charts.clients_notes(info),
        client_charts.clients_legend(info),
        empty="This run has no accuracies of single clients.",
    )


def client_table(info: client_charts.ClientsInfo) -> Table:
    rows = tuple(
        (client, number, value / info.metric.scale)
        for client, row in zip(info.clients, info.values, strict=True)
        for number, value in zip(info.rounds, row, strict=True)
        if value is not None
    )
    return Table(("client", "round", "accuracy"), rows)


def confusion(picked: Picked, choices: Choices) -> Drawn:
    """Seeds of a cell together, up to six cells side by side."""
    found, places, infos = confusions(runs=list(picked.runs)), picked.flat_places(choices), {}
    for cell in picked.cells:
        matrices = [found[run.pk] for run in cell.runs if run.pk in found]
        info = summed(matrices, class_names(cell.spec, len(matrices[0]))) if matrices else None
        if info is not None:
            infos[places[cell.key].whole_label] = info
    shown = dict(list(infos.items())[:MOST])
    told = " ".join(f"{label}: {confusion_description(info)}" for label, info in shown.items())
    left = f" · the first {MOST} of {len(infos)} cells" if len(infos) > MOST else ""
    return Drawn(
        "Confusion matrices",
        confusions_figure(shown, narrow=choices.narrow),
        told or "No finished run has a confusion matrix.",
        lambda: confusions_table(infos),
        f"Seeds of a cell together; colour: share of the true class{left}" if infos else "",
        empty="Confusion matrices appear with the first finished runs.",
    )


CHARTS: dict[str, Callable[[Picked, Choices], Drawn]] = {
    "curves": curves,
    "against": against,
    "map": heat,
    "table": pivot,
    "difference": forest,
    "cost-bytes": cost_bytes,
    "cost-seconds": cost_seconds,
    "clients": fairness,
    "client-rounds": client_rounds,
    "confusion": confusion,
}
CHARTS_OF: dict[Tab, tuple[str, ...]] = {
    "overview": ("curves", "against", "map", "table"),
    "better": ("difference",),
    "cost": ("cost-bytes", "cost-seconds"),
    "clients": ("clients", "client-rounds", "confusion"),
    "specs": (),
}


def printed_in(picked: Picked) -> Marks:
    """By cell; none for runs that were picked without a study."""
    found: Marks = {}
    for preset in {own.name: own for study in picked.studies if (own := preset_of(study))}.values():
        for cell, printed in marks_of(preset, picked.specs, cache(partial(full_specs, preset))).items():
            found.setdefault(cell, []).extend(printed)
    return found


def curve_marks(picked: Picked, choices: Choices) -> dict[str, list[Diamond]]:
    return {
        cell: on_curve(printed, choices.metric, picked.specs[cell]["rounds"])
        for cell, printed in printed_in(picked).items()
    }


def value_marks(picked: Picked, metric: str, wanted: Wanted) -> Mapping[str, Diamond]:
    found = {cell: of_value(printed, metric, wanted) for cell, printed in printed_in(picked).items()}
    return {cell: each for cell, each in found.items() if each}
