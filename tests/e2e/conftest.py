"""A real browser. A page that logs an error, or asks for something that is not there, fails its test."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright
from pytest_django import DjangoDbBlocker

from tests.live import LivePlatform

if TYPE_CHECKING:
    from experiments.models import User

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PASSWORD = "river-and-stream"
PATIENCE = 20_000

NewPage = Callable[..., Page]
Cookie = dict[str, str]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One that the system has, otherwise the one that Playwright downloaded."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def member(live_platform: LivePlatform, django_db_blocker: DjangoDbBlocker) -> User:
    from experiments.models import User

    with django_db_blocker.unblock():
        return User.objects.create_user("mira", password=PASSWORD, role="member")


def expected(message: ConsoleMessage) -> bool:
    """Chromium reports every refusal: a launch with problems, a session that has ended, and a last look at a study that
    was deleted meanwhile."""
    refused = any(f"status of {code}" in message.text for code in (401, 413, 422))
    gone = "404 (Not Found)" in message.text
    late = "Error Code 404 from /studies/" in message.text or "Error Code 401 from /" in message.text
    return refused or late or (gone and "/studies/" in message.location["url"])


def watch(page: Page, complaints: list[str]) -> None:
    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and not expected(message):
            complaints.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))


@pytest.fixture
def new_page(browser: Browser, live_platform: LivePlatform) -> Iterator[NewPage]:
    """Makes pages of strangers; options are those of a browser context (colour scheme, viewport).

    `tour`: as people who see the lab for the first time.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(*, tour: bool = False, **options: object) -> Page:
        context = browser.new_context(base_url=live_platform.base_url, **options)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        if not tour:
            context.add_init_script("localStorage.setItem('tributary-tour', 'yes')")
        page = context.new_page()
        watch(page, complaints)
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def session_cookie(member: User, live_platform: LivePlatform, django_db_blocker: DjangoDbBlocker) -> Cookie:
    """The member, logged in: only the tests of the log-in page type a password."""
    from django.test import Client

    client = Client()
    with django_db_blocker.unblock():
        client.force_login(member)
    return {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_platform.base_url}


@pytest.fixture
def member_page(new_page: NewPage, session_cookie: Cookie) -> NewPage:
    """Opens the first page as the member, ready for the keyboard: its script names the theme."""

    def make(**options: object) -> Page:
        page = new_page(**options)
        page.context.add_cookies([session_cookie])  # type: ignore[list-item]
        page.goto("/")
        expect(page.get_by_role("button", name="Theme: as the system")).to_be_visible()
        return page

    return make


@pytest.fixture
def page(member_page: NewPage) -> Page:
    return member_page()
