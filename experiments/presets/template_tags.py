"""What a launch would cost, in a sentence."""

from __future__ import annotations

from datetime import timedelta
from math import ceil

from django import template

from experiments.results.template_tags import size
from experiments.studies.services.launch import Plan
from experiments.web.template_tags import duration

register = template.Library()


@register.filter
def estimate_text(plan: Plan) -> str:
    """Time and traffic in one line; a guess says that it is one."""
    bytes_text = f"{size(plan.bytes)} would cross the network in a real deployment."
    if plan.runs == plan.reused:
        return f"Nothing to compute. {bytes_text}"
    estimate = plan.estimate
    low, high = (
        duration(timedelta(seconds=ceil(seconds))) for seconds in (estimate.low_seconds, estimate.high_seconds)
    )
    where = (
        f"on {estimate.workers} worker{'' if estimate.workers == 1 else 's'}" if estimate.workers else "on one worker"
    )
    return f"About {low} to {high} {where} ({estimate.basis}). {bytes_text}"
