"""A comparison behind a share link: one view, read-only, for people without an account."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from experiments.access.services.share_links import link_open
from experiments.compare.chart_builders import CHARTS_BY_TAB
from experiments.compare.choices import choices_of
from experiments.compare.selection import requested_selection
from experiments.compare.views.downloads import csv_file, paper_file
from experiments.compare.views.page import page_context, requested_chart
from experiments.models import ShareLink

PRIVATE = {"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}


@login_not_required
@require_safe
@gzip_page
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    link = open_link(secret)
    selection, choices = requested_selection(QueryDict(link.query))
    shared_context = {"base": reverse("shared", args=[secret]), "read_only": True, "link": link, "query": ""}
    context = {**page_context(selection, choices, QueryDict("")), **shared_context}
    return private_response(render(request, "pages/compare_shared.html", context))


@login_not_required
@require_safe
@gzip_page
def shared_chart(request: HttpRequest, secret: str, name: str) -> HttpResponse:
    return private_response(JsonResponse(requested_chart(name, shared_query(secret, name)).answer()))


@login_not_required
@require_safe
def shared_csv(request: HttpRequest, secret: str, name: str) -> HttpResponse:
    return private_response(csv_file(name, shared_query(secret, name)))


@login_not_required
@require_safe
def shared_table(request: HttpRequest, secret: str, kind: str) -> HttpResponse:
    return private_response(paper_file(kind, shared_query(secret, "table")))


def private_response(response: HttpResponse) -> HttpResponse:
    """The address is the secret: neither caches, other sites nor search engines are to learn of it."""
    for name, value in PRIVATE.items():
        response.headers[name] = value
    return response


def open_link(secret: str) -> ShareLink:
    link = link_open(secret)
    if link is None:
        raise Http404
    return link


def shared_query(secret: str, chart: str) -> QueryDict:
    """What was shared, whatever the visitor's address says; charts of other tabs were not."""
    query = QueryDict(open_link(secret).query)
    if chart not in CHARTS_BY_TAB[choices_of(query).tab]:
        raise Http404
    return query
