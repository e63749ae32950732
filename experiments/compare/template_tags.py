"""Words of Compare."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from experiments.compare.baseline import chosen_reference
from experiments.compare.charts.values import value_label
from experiments.compare.choices import Choices
from experiments.compare.selection import Selection
from experiments.compare.selectors.baselines import offered_baselines
from experiments.labels.metrics import metric_label
from experiments.labels.names import axis_title

register = template.Library()


@register.inclusion_tag("parts/compare_baseline.html", takes_context=True)
def compare_baseline(context: Context, choices: Choices) -> dict[str, Any]:
    """What the table is shown against, and the choice of it."""
    label = value_label(metric_label(choices.metric), choices.value)
    reference = chosen_reference(choices, choices.value)
    return {
        "reference": reference,
        "text": reference.text(label) if reference else "",
        "elsewhere": reference is not None and reference.dataset not in selected_datasets(context["selection"]),
        "unit": label.unit,
        "chosen": choices.baseline,
        "offered": {} if context.get("read_only") else offered_baselines(),
    }


def selected_datasets(selection: Selection) -> set[str]:
    return {str(row.get("dataset", "")) for row in selection.flat.values()}


@register.filter
def axis_words(axis: str) -> str:
    return axis_title(axis).capitalize()
