"""The table of studies. What it shows and in which order stands in its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from experiments.core.json_values import plain_text
from experiments.results.live.changes import LAB
from experiments.results.live.parts import live_page
from experiments.studies.selectors.studies import lab_counts
from experiments.studies.selectors.study_list import (
    NEWEST,
    SORTS,
    STUDY_STATES,
    StudyFilters,
    dataset_counts,
    list_studies,
    owner_counts,
    tag_counts,
)
from experiments.web.requests import current_user, whole_number

COLUMNS = {
    "name": "Study",
    "dataset": "Data set",
    "created": "Launched",
    "owner": "By",
    "state": "State",
    "best": "Best accuracy, %",
}
LARGEST_FIRST = ("created", "best")
"""Columns whose first click sorts from the newest, or the best."""


@dataclass(frozen=True)
class Column:
    name: str
    title: str
    address: str
    order: str
    """`ascending` or `descending` where the table is sorted by it."""


def studies_page(request: HttpRequest) -> HttpResponse:
    """One of its links leads to the person's own studies: it is each person's, in all of their windows."""
    return live_page(
        request,
        "pages/studies.html",
        "parts/studies_live.html",
        scope=LAB,
        viewer=lambda: current_user(request).pk,
        make_context=lambda: studies_context(request),
    )


def studies_context(request: HttpRequest) -> dict[str, Any]:
    filters = parse_study_filters(request)
    listed = list_studies(filters, page=max(1, whole_number(request.GET.get("page"), 1)))
    return {
        "rows": listed.rows,
        "listed": listed,
        "filters": filters,
        "mine": filters.owner == current_user(request).username,
        "counts": lab_counts(),
        "tags": tag_counts(filters=filters),
        "datasets": dataset_counts(),
        "owners": owner_counts(filters=filters),
        "states": STUDY_STATES,
        "columns": sort_columns(filters),
        "links": filter_links(filters, current_user(request).username),
    }


def parse_study_filters(request: HttpRequest) -> StudyFilters:
    data = {key: plain_text(str(value)).strip() for key, value in request.GET.items()}
    sort = data.get("sort", "")
    return StudyFilters(
        search=data.get("q", ""),
        tag=data.get("tag", ""),
        owner=data.get("owner", ""),
        dataset=data.get("dataset", ""),
        state=state if (state := data.get("state", "")) in STUDY_STATES else "",
        archived=data.get("archived") == "yes",
        sort=sort if sort.removeprefix("-") in SORTS else NEWEST,
    )


def filter_choices(filters: StudyFilters) -> dict[str, str]:
    """As they stand in the address."""
    return {
        "q": filters.search,
        "tag": filters.tag,
        "owner": filters.owner,
        "dataset": filters.dataset,
        "state": filters.state,
        "archived": "yes" if filters.archived else "",
        "sort": "" if filters.sort == NEWEST else filters.sort,
    }


def sort_columns(filters: StudyFilters) -> list[Column]:
    return [Column(name, title, *sort_link(filters, name)) for name, title in COLUMNS.items()]


def sort_link(filters: StudyFilters, name: str) -> tuple[str, str]:
    """Where a click on the column leads, and how it is sorted by now: a second click turns it round."""
    order = {name: "ascending", f"-{name}": "descending"}.get(filters.sort, "")
    first = f"-{name}" if name in LARGEST_FIRST else name
    turned = {name: f"-{name}", f"-{name}": name}.get(filters.sort, first)
    return query_address({**filter_choices(filters), "sort": "" if turned == NEWEST else turned}), order


def filter_links(filters: StudyFilters, me: str) -> dict[str, str]:
    """Where the filters lead: each changes one choice and keeps the others, from the first page on."""
    current = filter_choices(filters)
    changes: dict[str, dict[str, str]] = {
        "all": {"owner": "", "archived": ""},
        "mine": {"owner": me, "archived": ""},
        "archived": {"owner": "", "archived": "yes"},
        "any_tag": {"tag": ""},
        "first": {},
    }
    return {name: query_address({**current, **change}) for name, change in changes.items()} | {
        "with_tag": query_address({**current, "tag": ""}, joined=True),
        "page": query_address(current, joined=True),
    }


def query_address(choices: dict[str, Any], *, joined: bool = False) -> str:
    """`joined` is ready to take one more choice behind it."""
    query = urlencode({key: value for key, value in choices.items() if value})
    return f"?{query}&" if joined and query else f"?{query}"
