"""Comparisons: the numbers behind every chart of Compare, saved views, and links to give away."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Query, Router, Status

from experiments.access.services.share_links import link_create, link_revoke
from experiments.api.paging import Paging, find_sorting, integer_key, read_page
from experiments.api.schemas import Id, Page, error_responses
from experiments.compare.chart_builders import CHART_BUILDERS
from experiments.compare.paper_tables import TABLE_BUILDERS
from experiments.compare.schemas import (
    CompareFilter,
    ComparisonAnswer,
    LinkAnswer,
    LinkMade,
    LinkWish,
    VerdictsAnswer,
    ViewAnswer,
    ViewWish,
)
from experiments.compare.selection import requested_selection
from experiments.compare.selectors.saved_views import links_for, views_for
from experiments.compare.services import view_delete, view_save
from experiments.compare.verdicts import verdicts_answer
from experiments.core.json_values import json_safe
from experiments.models import SavedView, ShareLink
from experiments.papers.responses import table_response
from experiments.papers.selectors import paper_source
from experiments.web.requests import current_user

router = Router(tags=["compare"])
NEWEST = find_sorting("-id", {"id": integer_key("id")})


@router.get(
    "/compare/verdicts", response={200: VerdictsAnswer, **error_responses()}, summary="Which is better, and how sure"
)
def verdicts(request: HttpRequest, filters: Query[CompareFilter]) -> Any:
    """Every two values of the compared axis (`compared`, otherwise the strategy), over matching seeds: what may be said
    of them in a sentence, and what a reader must know with it. Takes every parameter of the Compare page's address.
    """
    return json_safe(verdicts_answer(*requested_selection(request.GET)))


@router.get(
    "/compare/{chart}", response={200: ComparisonAnswer, **error_responses(404)}, summary="Numbers behind a chart"
)
def compare(request: HttpRequest, chart: str, filters: Query[CompareFilter]) -> Any:
    """`chart` is one of curves, against, map, table, difference, cost-bytes, cost-seconds, clients, client-rounds,
    confusion. Takes every parameter of the Compare page's address: copy it from there. Values are as stored.
    """
    if chart not in CHART_BUILDERS:
        raise Http404
    result = CHART_BUILDERS[chart](*requested_selection(request.GET))
    return {
        "title": result.title,
        "description": result.description,
        "notes": result.notes,
        "columns": list(result.table.columns),
        "rows": json_safe(result.table.rows),
    }


@router.get(
    "/compare/tables/{table}.{kind}",
    response={200: str, **error_responses(404)},
    summary="A table for papers",
    openapi_extra={"responses": {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}},
)
def table(request: HttpRequest, table: str, kind: str, filters: Query[CompareFilter]) -> HttpResponse:
    """`table` is values, better or clients; `kind` is tex (booktabs), md or csv. Parameters as of Compare's address."""
    if table not in TABLE_BUILDERS:
        raise Http404
    selection, choices = requested_selection(request.GET)
    built = TABLE_BUILDERS[table](selection, choices)
    link = request.build_absolute_uri(f"{reverse('compare')}?{request.GET.urlencode()}")
    source = paper_source(runs=selection.runs, link=link)
    return table_response(built.table, kind, f"table-{table}", built.title, built.notes, source)


@router.get("/views", response={200: Page[ViewAnswer], **error_responses()}, summary="Saved views, the newest first")
def views(request: HttpRequest, paging: Query[Paging]) -> Any:
    """Your own, and those that others share with the lab."""
    count, following, page = read_page(views_for(person=current_user(request)), paging, NEWEST)
    return {"count": count, "next": following, "items": [view_answer(each) for each in page]}


@router.post("/views", response={201: ViewAnswer, **error_responses(403, 409)}, summary="Save a view")
def save(request: HttpRequest, body: ViewWish) -> Any:
    """Under the name of a view of yours, it replaces that one."""
    view = view_save(owner=current_user(request), name=body.name, query=body.query, shared=body.shared)
    return Status(201, view_answer(view))


@router.delete("/views/{view}", response={204: None, **error_responses(403, 404)}, summary="Delete a view")
def forget(request: HttpRequest, view: Id) -> Any:
    """The runs behind it stay."""
    view_delete(view=get_object_or_404(views_for(person=current_user(request)), pk=view), actor=current_user(request))
    return Status(204, None)


@router.get(
    "/share-links", response={200: Page[LinkAnswer], **error_responses()}, summary="Share links, the newest first"
)
def links(request: HttpRequest, paging: Query[Paging]) -> Any:
    """Your own that are not revoked; an admin sees everyone's."""
    count, following, page = read_page(links_for(person=current_user(request)), paging, NEWEST)
    return {"count": count, "next": following, "items": [link_answer(each) for each in page]}


@router.post("/share-links", response={201: LinkMade, **error_responses(403)}, summary="Share a comparison")
def share(request: HttpRequest, body: LinkWish) -> Any:
    """Anyone who has the address sees this one view, read-only, until it expires or is revoked."""
    link, secret = link_create(owner=current_user(request), query=body.query, title=body.title, days=body.days)
    address = request.build_absolute_uri(reverse("shared", args=[secret]))
    return Status(201, {**link_answer(link), "url": address})


@router.delete("/share-links/{link}", response={204: None, **error_responses(403, 404)}, summary="Revoke a share link")
def revoke(request: HttpRequest, link: Id) -> Any:
    """It opens nothing from the next request on."""
    link_revoke(link=get_object_or_404(ShareLink, pk=link), actor=current_user(request))
    return Status(204, None)


def view_answer(view: SavedView) -> dict[str, Any]:
    return {
        "id": view.pk,
        "name": view.name,
        "query": view.query,
        "owner": view.owner.username,
        "shared": view.shared,
        "created": view.created,
    }


def link_answer(link: ShareLink) -> dict[str, Any]:
    return {
        "id": link.pk,
        "title": link.title,
        "query": link.query,
        "prefix": link.prefix,
        "owner": link.owner.username,
        "created": link.created,
        "expires": link.expires,
    }
