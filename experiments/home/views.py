"""The lab's first page."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from django.http import HttpRequest, HttpResponse

from experiments.access.services.rights import may_manage
from experiments.bookmarks.selectors import has_pins
from experiments.home.selectors import lab_home
from experiments.results.live.changes import LAB
from experiments.results.live.parts import live_page
from experiments.studies.selectors.studies import has_own_studies, lab_counts
from experiments.studies.selectors.study_list import dataset_counts
from experiments.web.requests import current_user


def home_page(request: HttpRequest) -> HttpResponse:
    """What is a person's own on it: pins, and the word "you" beside their studies."""
    person = current_user(request)

    def make_context() -> dict[str, Any]:
        home = lab_home(person)
        return {
            "home": home,
            "may_retry": {each.study.pk for each in home.attention.failures if may_manage(person, each.study)},
            "counts": lab_counts(),
            "datasets": dataset_counts(),
        }

    def viewer() -> Hashable:
        return person.role, person.pk if has_own_studies(person) or has_pins(person) else None

    return live_page(
        request, "pages/home.html", "parts/home_live.html", scope=LAB, viewer=viewer, make_context=make_context
    )
