"""Numbers, times and specs in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django import template
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from experiments.labels.metrics import HUGE, metric_label
from experiments.labels.names import component_name
from experiments.labels.specs import spec_yaml
from experiments.models import Run, RunState
from experiments.queue.selectors.workers import Pulse, current_pulse
from experiments.statistics.over_seeds import SeedStatistics
from experiments.studies.selectors.studies import LabCounts
from experiments.web.markdown import render_note
from workers.spec import says_rounds

register = template.Library()

UNITS = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


@register.filter
def duration(value: timedelta | None) -> str:
    """At most two units: "38 s", "4 min 12 s", "2 d 3 h"; below a second tenths, because a short run is not nothing."""
    if value is None:
        return "–"
    exact = value.total_seconds()
    if 0 < exact < 0.95:
        return f"{exact:.1f} s" if exact >= 0.05 else "under 0.1 s"
    seconds = round(exact)
    for size, unit, smaller, smaller_unit in UNITS:
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {unit}" + (f" {rest} {smaller_unit}" if rest else "")
    return f"{seconds} s"


@register.filter
def hours(value: timedelta) -> str:
    """As numbers in a column: "12.5"; a short one is not nothing."""
    spent = value.total_seconds() / 3600
    if spent < 0.1:
        return "under 0.1" if spent else "0"
    return f"{spent:,.1f}" if spent < 100 else f"{spent:,.0f}"


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
def moment(at: datetime, precision: str = "minutes") -> SafeString:
    """In UTC, which it says; `static/js/times.js` shows it in the browser's zone, with UTC in the tooltip."""
    pattern = "j M Y, H:i:s" if precision == "seconds" else "j M Y, H:i"
    return time_element(at, precision, f"{date_format(at.astimezone(UTC), pattern)} UTC")


@register.filter
def day(at: datetime) -> SafeString:
    return time_element(at, "day", date_format(at.astimezone(UTC), "j M Y"))


def time_element(at: datetime, precision: str, text: str) -> SafeString:
    utc = at.astimezone(UTC)
    title = f"{date_format(utc, 'j M Y, H:i:s')} UTC"
    return format_html(
        '<time datetime="{}" title="{}" data-precision="{}">{}</time>',
        utc.isoformat(timespec="seconds"),
        title,
        precision,
        text,
    )


@register.filter
def ago(moment: datetime | None) -> str:
    return "never" if moment is None else f"{since(moment)} ago"


@register.filter
def since(moment: datetime) -> str:
    """In whole seconds: the page is older than tenths by the time that it is read."""
    return duration(timedelta(seconds=round((timezone.now() - moment).total_seconds())))


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
def markdown(text: str) -> SafeString:
    """A note that a person wrote; goes into an element of class "prose"."""
    return render_note(text)


@register.filter
def as_yaml(value: Any) -> str:
    """In the order in which people write specs; the database keeps none."""
    return spec_yaml(value)


@register.filter
def item(mapping: dict[str, Any], key: str) -> Any:
    return mapping.get(key)


@register.filter
def dataset_name(name: str) -> str:
    """As people call it: "UCI HAR"."""
    return component_name("dataset", name)


@register.filter
def at(values: Sequence[Any], place: int) -> Any:
    return values[place]


@register.inclusion_tag("parts/pulse.html")
def workers_pulse() -> dict[str, Pulse]:
    return {"pulse": current_pulse()}


@register.simple_tag(takes_context=True)
def sort_address(context: dict[str, Any], prefix: str, sort: str) -> str:
    """The present address with that order of one of its tables, from its first page on."""
    choices = context["request"].GET.copy()
    choices[f"{prefix}_sort"] = sort
    for name in ("page", *([] if sort else [f"{prefix}_sort"])):
        choices.pop(name, None)
    return f"?{choices.urlencode()}"


@register.simple_tag(takes_context=True)
def other_choices(context: dict[str, Any], prefix: str) -> SafeString:
    """What else is chosen in the address, so that a table's form keeps it."""
    own = (f"{prefix}_find", f"{prefix}_column", "page")
    choices = [(name, value) for name, values in context["request"].GET.lists() for value in values if name not in own]
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', choices)
