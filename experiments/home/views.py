"""The lab's first page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from experiments.access.services.rights import may_manage
from experiments.home.selectors import lab_home
from experiments.studies.selectors.studies import lab_counts
from experiments.studies.selectors.study_list import dataset_counts
from experiments.web.requests import current_user, page_or_part


def home_page(request: HttpRequest) -> HttpResponse:
    person = current_user(request)
    home = lab_home(person)
    context = {
        "home": home,
        "may_retry": {each.study.pk for each in home.attention.failures if may_manage(person, each.study)},
        "counts": lab_counts(),
        "datasets": dataset_counts(),
    }
    return page_or_part(request, "pages/home.html", "parts/home_live.html", context)
