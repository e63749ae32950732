"""Small pictures for the Data sets page."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()
HEIGHT, BAR, GAP = 60, 10, 2


@register.simple_tag
def histogram(counts: Sequence[int], names: Sequence[str]) -> SafeString:
    """Training samples by class: bars whose height is the count, with the numbers as titles and as text."""
    most = max(counts, default=0) or 1
    labels = [names[place] if place < len(names) else str(place) for place in range(len(counts))]
    heights = [HEIGHT * count / most for count in counts]
    bars = format_html_join(
        "",
        '<rect x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        (
            (place * (BAR + GAP), f"{HEIGHT - height:.1f}", BAR, f"{height:.1f}", f"{labels[place]}: {counts[place]:,}")
            for place, height in enumerate(heights)
        ),
    )
    words = f"Training samples by class, from {min(counts, default=0):,} to {most:,}"
    return format_html(
        '<svg class="histogram" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>',
        len(counts) * (BAR + GAP) - GAP,
        HEIGHT,
        words,
        bars,
    )
