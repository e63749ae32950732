"""Numbers, times and specs in words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from experiments.labels.metrics import HUGE, metric_label
from experiments.labels.specs import spec_yaml
from experiments.models import Run, RunState
from experiments.queue.selectors.workers import Pulse, current_pulse
from experiments.statistics.over_seeds import SeedStatistics
from experiments.studies.selectors.studies import LabCounts
from workers.spec import says_rounds

register = template.Library()

UNITS = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


@register.filter
def duration(value: timedelta | None) -> str:
    """At most two units: "38 s", "4 min 12 s", "2 d 3 h"."""
    if value is None:
        return "–"
    seconds = round(value.total_seconds())
    for size, unit, smaller, smaller_unit in UNITS:
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {unit}" + (f" {rest} {smaller_unit}" if rest else "")
    return f"{seconds} s"


@register.filter
def knows_rounds(run: Run) -> bool:
    """Whether it can be said how many there will be: an app may not tell before it is done."""
    return run.state == RunState.DONE or says_rounds(run.spec)


@register.filter
def rounds_text(run: Run) -> str:
    if knows_rounds(run):
        return f"{run.rounds_done:,} / {run.rounds_total:,} rounds"
    return f"{run.rounds_done:,} rounds so far"


@register.filter
def roughly(value: timedelta | None) -> str:
    """One unit, for estimates: "≈ 6 min"."""
    if value is None:
        return ""
    seconds = round(value.total_seconds())
    if seconds < 60:
        return f"≈ {max(5, -(-seconds // 5) * 5)} s"
    return f"≈ {duration(timedelta(minutes=round(seconds / 60)))}"


@register.filter
def ago(moment: datetime | None) -> str:
    return "never" if moment is None else f"{duration(timezone.now() - moment)} ago"


@register.filter
def since(moment: datetime) -> str:
    return duration(timezone.now() - moment)


@register.filter
def lab_summary(counts: LabCounts) -> str:
    """ "5 studies · 318 runs · 213 done, 83 queued, 2 failed"."""
    states = ", ".join(f"{counts.states[state]:,} {state}" for state in RunState.values if counts.states[state])
    studies = "1 study" if counts.studies == 1 else f"{counts.studies:,} studies"
    runs = "1 run" if counts.runs == 1 else f"{counts.runs:,} runs"
    return " · ".join(part for part in (studies, runs, states) if part)


@register.filter
def percent(statistics: SeedStatistics | None, digits: int = 1) -> str:
    """A share as "95.75 ± 0.10"; one seed has no spread."""
    if statistics is None or statistics.mean is None:
        return "–"
    spread = f" ± {statistics.std * 100:.{digits}f}" if statistics.std is not None else ""
    return f"{statistics.mean * 100:.{digits}f}{spread}"


@register.filter
def mean_and_std(statistics: SeedStatistics | None, metric: str) -> str:
    """A statistic in its metric's unit."""
    label = metric_label(metric)
    if statistics is None or statistics.mean is None:
        return "–"
    spread = f" ± {label.format(statistics.std)}" if statistics.std is not None else ""
    return f"{label.format(statistics.mean)}{spread}"


@register.filter
def number(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {number(each)}" for key, each in value.items())
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e6 <= abs(value) < HUGE else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@register.filter
def codes(text: str) -> SafeString:
    """What stands between backticks, as code."""
    parts = enumerate(text.split("`"))
    return format_html("".join("<code>{}</code>" if place % 2 else "{}" for place, _ in parts), *text.split("`"))


@register.filter
def as_yaml(value: Any) -> str:
    """In the order in which people write specs; the database keeps none."""
    return spec_yaml(value)


@register.filter
def item(mapping: dict[str, Any], key: str) -> Any:
    return mapping.get(key)


@register.inclusion_tag("parts/pulse.html")
def workers_pulse() -> dict[str, Pulse]:
    return {"pulse": current_pulse()}
