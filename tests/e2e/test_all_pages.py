"""All pages on a phone and on a screen, light and dark: no error, nothing sideways, colours as the theme has them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from experiments.models import Study, User
from tests.e2e.conftest import NewPage
from tests.experiments import lab
from tests.live import LivePlatform

PAGES = [
    "/",
    "/studies",
    "/leaderboard",
    "/studies/new",
    "/imports",
    "/queue",
    "/compare",
    "/data-sets",
    "/apps",
    "/catalog",
    "/workers",
    "/me",
    "/api/v1/docs",
]


# In a process of its own: other tests have imported the engine into this one.
SERVE = """
import sys, django
django.setup()
from django.test import Client
from experiments.models import Run, Study, User
client = Client(headers={"host": "127.0.0.1"})
client.force_login(User.objects.get(username="mira"))
study, run = Study.objects.latest("pk").pk, Run.objects.latest("pk").pk
pages = ["/", "/studies", "/leaderboard", "/studies/new", "/queue", "/compare", f"/compare?study={study}",
         "/data-sets", "/apps", "/workers",
         "/pulse", f"/studies/{study}", f"/studies/{study}/figure", f"/runs/{run}", f"/runs/{run}/figure", "/log-in",
         "/healthz", f"/studies/{study}/portrait", f"/runs/{run}/portrait", f"/api/v1/runs/{run}/partition",
         "/api/v1/datasets", "/api/v1/apps", f"/studies/{study}/deletion",
         *(f"/runs/{run}/{part}" for part in ("clients", "clients/figure", "costs/figure", "log", "files/spec.yaml"))]
codes = [client.get(page).status_code for page in pages]
draft = client.post("/studies/draft", {"yaml": "name: x"}, content_type="application/json").status_code
print(sorted({*codes, draft}), [name for name in ("torch", "flwr", "ray", "matplotlib") if name in sys.modules])
"""


@pytest.fixture(scope="module")
def study(member: User, django_db_blocker: object) -> Study:
    """Finished, with numbers written by hand: nothing has to run for these tests."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        made = lab.launched(member, "Finished by hand")
        for place, run in enumerate(lab.runs_in_order(made)):
            lab.record(run, {"accuracy": [0.1, 0.5, 0.8 + place / 100], "loss": [2.0, 1.0, 0.5]})
        return made


def line_colour(page: Page) -> str:
    page.wait_for_selector(".plot .scatterlayer .js-line")
    return str(
        page.evaluate("document.querySelector('[data-figure] .plot').data.find((trace) => trace.name).line.color")
    )


def test_no_page_pulls_in_the_engine(live_platform: LivePlatform, study: Study) -> None:
    served = subprocess.run(
        [sys.executable, "-c", SERVE], env=live_platform.environment, capture_output=True, text=True, check=True
    )
    assert served.stdout.strip() == "[200, 302] []"


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_pages_open_without_errors_and_never_scroll_sideways(
    member_page: NewPage, study: Study, width: int, scheme: str
) -> None:
    page = member_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    run = lab.runs_in_order(study)[0].pk
    for address in [*PAGES, f"/studies/{study.pk}", f"/runs/{run}", f"/compare?study={study.pk}"]:
        page.goto(address)
        expect(page.locator("h1").first).to_be_visible()
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider == 0, address


def test_the_theme_follows_the_system_until_the_person_chooses(member_page: NewPage, study: Study) -> None:
    page = member_page(color_scheme="dark")
    root = page.locator("html")
    page.goto(f"/studies/{study.pk}")
    expect(root).to_have_attribute("data-theme", "dark")
    assert line_colour(page) == "#5bc0de"
    page.get_by_role("button", name="Theme").click()
    expect(root).to_have_attribute("data-theme", "light")
    assert line_colour(page) == "#0b6e8f"
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Theme").click()
    expect(root).to_have_attribute("data-theme-choice", "dark")


def test_the_keyboard_reaches_search_help_and_content(member_page: NewPage, study: Study) -> None:
    page = member_page()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.goto("/studies")
    page.keyboard.press("/")
    expect(page.get_by_label("Search studies")).to_be_focused()
    page.keyboard.type("nothing like it")
    expect(page.get_by_text("No study matches “nothing like it”")).to_be_visible()
    page.get_by_label("Search studies").fill("by hand")
    expect(page.get_by_role("link", name="Finished by hand").last).to_be_visible()
    page.reload()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()


def test_a_line_is_hidden_by_its_legend_entry(member_page: NewPage, study: Study) -> None:
    """Beside the chart the cells are its legend; where there is no room for them, it has one."""
    page = member_page(viewport={"width": 900, "height": 800})
    page.goto(f"/studies/{study.pk}")
    entry = page.get_by_role("button", name="FedAvg · n=3")
    entry.press("Enter")
    expect(entry).to_have_attribute("aria-pressed", "false")
    traces = page.evaluate(
        "document.querySelector('[data-figure] .plot').data.map((trace) => [trace.name, trace.visible])"
    )
    assert [name for name, visible in traces if name and visible] == ["FedProx (μ = 0.1) · n=3"]


def test_the_tour_is_for_the_first_visit_and_goes_by_keyboard(member_page: NewPage, study: Study) -> None:
    page = member_page(tour=True)
    tour = page.get_by_role("region", name="A short tour")
    expect(tour).to_contain_text("1 of 6")
    tour.get_by_role("button", name="Next").press("Enter")
    expect(tour).to_contain_text("Begin with a study")
    expect(page.locator(".tour-target")).to_have_text("New study")
    tour.get_by_role("button", name="Next").press("ArrowLeft")
    expect(tour).to_contain_text("1 of 6")
    page.keyboard.press("Escape")
    expect(tour).to_be_hidden()
    page.reload()
    expect(page.locator("h1")).to_be_visible()
    expect(tour).to_be_hidden()
    page.goto("/?tour")
    expect(tour).to_be_visible()


def test_a_word_explains_itself(member_page: NewPage, study: Study) -> None:
    page = member_page()
    page.goto(f"/studies/{study.pk}")
    page.get_by_role("button", name="Cells", exact=True).press("Enter")
    expect(page.locator("#term-cell")).to_contain_text("Its runs differ only in their seed")
    page.keyboard.press("Escape")
    expect(page.locator("#term-cell")).to_be_hidden()
