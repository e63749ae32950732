"""Buttons that pin a study and star its cells, where a page has them."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import RequestContext

from experiments.bookmarks.selectors import baselines_of
from experiments.models import Pin, Study

register = template.Library()


@register.inclusion_tag("parts/pin_buttons.html", takes_context=True)
def pin_buttons(context: RequestContext, study: Study) -> dict[str, Any]:
    user = context["user"]
    people = set(Pin.objects.filter(study=study).values_list("person", flat=True))
    return {
        "study": study,
        "mine": user.pk in people,
        "for_all": None in people,
        "user": user,
        "csrf_token": context.get("csrf_token"),
    }


@register.simple_tag
def starred_cells(study: Study) -> set[str]:
    return set(baselines_of(study=study.pk))
