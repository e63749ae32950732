"""A lab head's three questions in a lab of sixty studies: who runs what, what was found this week, which method is best
on a data set. Each is answered in at most two clicks from home."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from benchmarks.home.lab import sixty_studies
from experiments.models import User
from tests.e2e.conftest import Cookie, NewPage
from tests.live import LivePlatform


@pytest.fixture(scope="module")
def cookie(live_platform: LivePlatform, django_db_blocker: DjangoDbBlocker) -> Cookie:
    """A viewer, who launches nothing and reads everything."""
    from django.test import Client

    client = Client()
    with django_db_blocker.unblock():
        sixty_studies()
        client.force_login(User.objects.create(username="head", role="viewer"))
    return {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_platform.base_url}


class Clicks:
    """Counts what the lab head has to press."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def link(self, name: str | re.Pattern[str]) -> None:
        self.page.get_by_role("main").get_by_role("link", name=name).first.click()
        self.count += 1


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["screen", "phone"])
def home(request: pytest.FixtureRequest, new_page: NewPage, cookie: Cookie) -> Clicks:
    width, scheme = request.param
    page = new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    page.goto("/")
    return Clicks(page)


def test_who_runs_what_is_on_home(home: Clicks) -> None:
    rows = home.page.locator(".at-work tbody tr")
    expect(rows).to_have_count(4)
    assert [text.split()[0] for text in rows.locator(".who").all_inner_texts()] == ["jonas", "ada", "li", "noor"]
    expect(rows.first).to_contain_text("Server optimizers on digits, 57")
    expect(rows.first).to_contain_text("3 / 6 runs")
    assert home.count == 0


def test_what_was_found_this_week_is_on_home_and_its_study_one_click_away(home: Clicks) -> None:
    row = home.page.locator(".ended tbody tr").filter(has_text="Control variates on mnist, 55")
    expect(row).to_contain_text(re.compile(r"97\.\d ± 0\.\d"))
    expect(row).to_contain_text("n = 3")
    home.link("Control variates on mnist, 55")
    expect(home.page.get_by_role("heading", level=1)).to_have_text("Control variates on mnist, 55")
    assert home.count == 1


@pytest.mark.parametrize("dataset", ["Digits", "Fashion-MNIST"])
def test_which_method_is_best_on_a_data_set_is_one_click_away(home: Clicks, dataset: str) -> None:
    home.link(re.compile(f"^{dataset}$"))
    first = home.page.locator(".leader tbody tr").first
    expect(first.locator(".strategy")).to_contain_text("SCAFFOLD")
    expect(first).to_contain_text("Control variates on")
    expect(home.page.get_by_role("heading", name="Left out, and why")).to_be_visible()
    assert home.count == 1
    home.link("Rank these")
    expect(home.page.locator(".leader tbody tr").first).to_be_visible()
    assert home.count == 2
