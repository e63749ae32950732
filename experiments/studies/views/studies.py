"""The list of studies, with its filters."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from experiments.core.json_values import plain_text
from experiments.studies.selectors.studies import PAGE, StudyFilters, lab_counts, study_rows, study_to_watch, tag_counts
from experiments.web.requests import current_user, page_or_part, whole_number


def studies_page(request: HttpRequest) -> HttpResponse:
    filters, before = parse_study_filters(request), whole_number(request.GET.get("before"), 0) or None
    rows = study_rows(before=before, filters=filters)
    context = {
        "rows": rows,
        "filters": filters,
        "before": before,
        "counts": lab_counts(),
        "tags": tag_counts(filters=filters),
        "links": filter_links(filters),
        "more": rows[-1].study.pk if len(rows) == PAGE else None,
        "watched": None if filters.narrow or before else study_to_watch(),
    }
    return page_or_part(request, "pages/studies.html", "parts/home_live.html", context)


def parse_study_filters(request: HttpRequest) -> StudyFilters:
    data = request.GET
    return StudyFilters(
        search=plain_text(data.get("q", "")).strip(),
        tag=plain_text(data.get("tag", "")).strip(),
        owner=current_user(request).pk if data.get("who") == "mine" else None,
        archived=data.get("archived") == "yes",
    )


def filter_links(filters: StudyFilters) -> dict[str, str]:
    """Where the filters lead: each changes one choice and keeps the others, from the newest study on."""
    current = {
        "q": filters.search,
        "tag": filters.tag,
        "who": "mine" if filters.owner else "",
        "archived": "yes" if filters.archived else "",
    }
    changes: dict[str, dict[str, Any]] = {
        "all": {"who": "", "archived": ""},
        "mine": {"who": "mine", "archived": ""},
        "archived": {"who": "", "archived": "yes"},
        "any_tag": {"tag": ""},
        "newest": {},
    }
    return {name: query_address({**current, **change}) for name, change in changes.items()} | {
        "with_tag": query_address({**current, "tag": ""}, joined=True),
        "older": query_address(current, joined=True),
    }


def query_address(choices: dict[str, Any], *, joined: bool = False) -> str:
    """`joined` is ready to take one more choice behind it."""
    query = urlencode({key: value for key, value in choices.items() if value})
    return f"?{query}&" if joined and query else f"?{query}"
