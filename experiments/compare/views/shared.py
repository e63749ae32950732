"""A comparison behind a share link: one view, read-only, for people without an account."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from experiments.access.services.share_links import link_ended, link_open
from experiments.compare.chart_builders import CHARTS_BY_TAB
from experiments.compare.choices import Tab, choices_of
from experiments.compare.paper_tables import TABLES_BY_TAB
from experiments.compare.selection import requested_selection
from experiments.compare.views.downloads import compare_chart_file, compare_table_file
from experiments.compare.views.page import page_context, requested_chart
from experiments.models import ShareLink

PRIVATE = {"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}

VISITORS_CHOICES = ("page", "narrow")
"""How they look at what was shared."""


@login_not_required
@require_safe
@gzip_page
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    link = link_open(secret)
    if link is None:
        ended = link_ended(secret)
        status = 410 if ended else 404
        return private_response(render(request, "pages/share_ended.html", {"ended": ended}, status=status))
    selection, choices = requested_selection(QueryDict(link.query))
    shared_context = {"base": reverse("shared", args=[secret]), "read_only": True, "link": link, "query": ""}
    context = {**page_context(selection, choices, QueryDict("")), **shared_context}
    return private_response(render(request, "pages/compare_shared.html", context))


@login_not_required
@require_safe
@gzip_page
def shared_chart(request: HttpRequest, secret: str, name: str) -> HttpResponse:
    query = shared_query(secret, CHARTS_BY_TAB, name).copy()
    query.update({each: request.GET[each] for each in VISITORS_CHOICES if each in request.GET})
    return private_response(JsonResponse(requested_chart(name, query).answer()))


@login_not_required
@require_safe
def shared_chart_file(request: HttpRequest, secret: str, name: str, kind: str) -> HttpResponse:
    query = shared_query(secret, CHARTS_BY_TAB, name)
    return private_response(compare_chart_file(request, query, name, kind, shared_link(request, secret)))


@login_not_required
@require_safe
def shared_table_file(request: HttpRequest, secret: str, name: str, kind: str) -> HttpResponse:
    query = shared_query(secret, TABLES_BY_TAB, name)
    return private_response(compare_table_file(query, name, kind, shared_link(request, secret)))


def shared_link(request: HttpRequest, secret: str) -> str:
    return request.build_absolute_uri(reverse("shared", args=[secret]))


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


def shared_query(secret: str, offered: Mapping[Tab, Collection[str]], name: str) -> QueryDict:
    """What was shared, whatever the visitor's address says; charts and tables of other tabs were not."""
    query = QueryDict(open_link(secret).query)
    if name not in offered.get(choices_of(query).tab, ()):
        raise Http404
    return query
