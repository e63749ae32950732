"""What a launch would cost, in a sentence."""

from __future__ import annotations

from django import template

from experiments.management.commands.launch import estimated
from experiments.services.studies import Plan

register = template.Library()


@register.filter
def estimate_text(plan: Plan) -> str:
    return estimated(plan)
