"""Moments in the time zone of the browser."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from playwright.sync_api import expect

from experiments.models import Study, User
from tests.e2e.conftest import NewPage
from tests.experiments.lab import launched


def test_moments_are_in_the_browsers_zone_and_in_utc_in_their_tooltip(member_page: NewPage, member: User) -> None:
    study = launched(member, "Late", strategy={"name": "fedavg"}, seeds=1)
    Study.objects.filter(pk=study.pk).update(created=datetime(2026, 3, 1, 20, 30, 5, tzinfo=UTC))
    page = member_page(timezone_id="Asia/Tokyo")
    page.goto(f"/studies/{study.pk}")
    moment = page.locator("time").first
    expect(moment).to_have_text(re.compile(r"^2 Mar 2026, 05:30 (JST|GMT\+9)$"))
    expect(moment).to_have_attribute("title", "1 Mar 2026, 20:30:05 UTC")
    expect(page.locator("footer")).to_have_text("Times are in Asia/Tokyo; UTC is in their tooltips.")
