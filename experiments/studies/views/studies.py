from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from experiments.core.json_values import plain_text
from experiments.studies.selectors.studies import PAGE, Filters, lab_counts, study_rows, study_to_watch, tag_counts
from experiments.web.requests import page_or_part, person, whole_number


def studies(request: HttpRequest) -> HttpResponse:
    filters, before = filters_in(request), whole_number(request.GET.get("before"), 0) or None
    rows = study_rows(before=before, filters=filters)
    context = {
        "rows": rows,
        "filters": filters,
        "before": before,
        "counts": lab_counts(),
        "tags": tag_counts(filters=filters),
        "links": links(filters),
        "more": rows[-1].study.pk if len(rows) == PAGE else None,
        "watched": None if filters.narrow or before else study_to_watch(),
    }
    return page_or_part(request, "pages/studies.html", "parts/home_live.html", context)


def filters_in(request: HttpRequest) -> Filters:
    asked = request.GET
    return Filters(
        search=plain_text(asked.get("q", "")).strip(),
        tag=plain_text(asked.get("tag", "")).strip(),
        owner=person(request).pk if asked.get("who") == "mine" else None,
        archived=asked.get("archived") == "yes",
    )


def links(filters: Filters) -> dict[str, str]:
    """Where the filters lead: each changes one choice and keeps the others, from the newest study on."""
    now = {
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
    return {name: address({**now, **change}) for name, change in changes.items()} | {
        "with_tag": address({**now, "tag": ""}, joined=True),
        "older": address(now, joined=True),
    }


def address(choices: dict[str, Any], *, joined: bool = False) -> str:
    """`joined` is ready to take one more choice behind it."""
    query = urlencode({key: value for key, value in choices.items() if value})
    return f"?{query}&" if joined and query else f"?{query}"
