"""Words of Compare."""

from __future__ import annotations

from django import template

from experiments.labels.axes import axis_title

register = template.Library()


@register.filter
def axis_words(axis: str) -> str:
    return axis_title(axis).capitalize()
