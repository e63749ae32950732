"""Is it better, what does it cost, whom does it serve, and which classes does it confuse."""

from __future__ import annotations

from experiments.charts import clients as client_charts
from experiments.charts.better import BetterInfo, PairInfo, better_info, better_table
from experiments.charts.compare_curves import X_AXES
from experiments.charts.confusion import confusion_description
from experiments.charts.confusions import MOST, confusions_figure, confusions_table, summed
from experiments.charts.fairness import (
    Spread,
    fairness_description,
    fairness_figure,
    fairness_info,
    fairness_legend,
    fairness_table,
)
from experiments.charts.forest import forest_description, forest_figure, forest_notes
from experiments.charts.metrics import metric_label
from experiments.charts.pareto import (
    pareto_description,
    pareto_figure,
    pareto_info,
    pareto_legend,
    pareto_notes,
    pareto_table,
)
from experiments.charts.spec_words import class_names
from experiments.charts.tables import Table
from experiments.charts.values import compared_axis, value_label
from experiments.compare.choices import Choices
from experiments.compare.drawn import Drawn, nothing
from experiments.compare.overview import missing_words
from experiments.compare.picked import Picked
from experiments.compare.samples import one_column, samples_of, spent_samples
from experiments.models import Run
from experiments.selectors.clients import client_history, clients_of
from experiments.selectors.compare.clients import client_accuracies, confusions

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
