"""A comparison beside a baseline, one of the lab's starred cells: the choice `baseline` of its address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from experiments.charts.chart import Chart
from experiments.compare.charts.reference import Reference, add_reference_line, reference_note
from experiments.compare.charts.values import ValueChoice, value_label
from experiments.compare.choices import Choices
from experiments.compare.samples import one_column, run_values, samples_by_cell
from experiments.compare.selection import Selection
from experiments.compare.selectors.baselines import baseline_cell
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample

ChartBuilder = Callable[[Selection, Choices], Chart]
LAST_ROUND = ValueChoice("final")


def chosen_reference(choices: Choices, value: ValueChoice) -> Reference | None:
    """None where no baseline is chosen, or its star is gone."""
    cell = baseline_cell(choices.baseline)
    if cell is None:
        return None
    values = run_values(list(cell.runs), choices.metric, value)
    samples = one_column(samples_by_cell(values, cell.runs, value.columns), value)
    return Reference(cell.label, cell.dataset, cell.study, next(iter(samples.values()), Sample({})))


def beside_baseline(build: ChartBuilder, value_of: Callable[[Choices], ValueChoice]) -> ChartBuilder:
    """The same chart with a line at the baseline's own value, where one is chosen."""

    def build_with_line(selection: Selection, choices: Choices) -> Chart:
        chart, value = build(selection, choices), value_of(choices)
        reference = chosen_reference(choices, value)
        if reference is None or not chart.figure["data"]:
            return chart
        label = value_label(metric_label(choices.metric), value)
        note = reference_note(reference, label)
        return replace(
            chart,
            figure=add_reference_line(dict(chart.figure), reference, label),
            notes=" · ".join(filter(None, [chart.notes, note])),
            description=f"{chart.description} {note}.",
        )

    return build_with_line
