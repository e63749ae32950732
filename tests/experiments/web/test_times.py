"""Moments say their time zone: UTC as the server writes them, the browser's where a script runs (tests/e2e)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.conf import settings
from django.template import Context, Template
from django.test import Client

from experiments.models import Study

NOON = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)
ELEMENT = '<time datetime="2026-03-01T12:30:05+00:00" title="1 Mar 2026, 12:30:05 UTC" data-precision="{}">{}</time>'


def render(expression: str, at: datetime) -> str:
    return Template("{% load tributary %}{{ at|" + expression + " }}").render(Context({"at": at}))


@pytest.mark.parametrize(
    ("expression", "element"),
    [
        ("moment", ELEMENT.format("minutes", "1 Mar 2026, 12:30 UTC")),
        ('moment:"seconds"', ELEMENT.format("seconds", "1 Mar 2026, 12:30:05 UTC")),
        ("day", ELEMENT.format("day", "1 Mar 2026")),
    ],
)
def test_a_moment_is_written_in_utc_and_says_so(expression: str, element: str) -> None:
    assert render(expression, NOON) == element
    assert render(expression, NOON.astimezone(timezone(timedelta(hours=9)))) == element


def test_no_template_writes_a_time_without_its_zone() -> None:
    templates = {path.name: path.read_text() for path in (settings.ROOT / "templates").rglob("*.html")}
    assert [name for name, text in templates.items() if re.search(r"\|(date|time)\b", text)] == []


def test_every_page_names_the_zone(as_owner: Client, client: Client, study: Study) -> None:
    for browser, path in ((client, "/log-in"), (as_owner, "/"), (as_owner, f"/studies/{study.pk}")):
        assert "data-zone>Times are in UTC.</footer>" in browser.get(path).content.decode()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.02, "under 0.1 s"), (0.34, "0.3 s"), (0.97, "1 s"), (38, "38 s"), (252, "4 min 12 s")],
)
def test_a_short_run_did_not_take_no_time(seconds: float, words: str) -> None:
    template = Template("{% load tributary %}{{ took|duration }}")
    assert template.render(Context({"took": timedelta(seconds=seconds)})) == words
