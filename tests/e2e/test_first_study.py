"""From the log-in page to a finished study, by mouse and by keyboard, with the curve growing on the way."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from experiments.models import RunState, User
from experiments.studies.services.deletion import study_delete
from tests.e2e.conftest import PASSWORD, NewPage
from tests.e2e.editing import choose
from tests.e2e.waiting import wait_until
from tests.experiments import lab

POINTS = """() => Math.max(0, ...(document.querySelector('[data-figure] .plot')._fullData ?? [])
    .filter((trace) => trace.fill !== 'toself').map((trace) => trace.x.length))"""
TRAINED = 90_000


def points(page: Page) -> int:
    return int(page.evaluate(POINTS))


def wait_for_points(page: Page, count: int) -> None:
    wait_until(page, f"({POINTS})() >= {count}", timeout=TRAINED)


def define_a_grid(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("Two strategies")
    page.get_by_role("button", name="Add a value to Strategy").click()
    dialog = page.get_by_role("dialog")
    choose(dialog, "Strategy", "fedprox")
    dialog.get_by_role("textbox", name="Mu").fill("0.1")
    dialog.get_by_role("button", name="Use").click()
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    page.get_by_role("button", name="Remove seed 2").press("Enter")
    expect(page.get_by_text("4 runs", exact=True)).to_be_visible()


def test_a_wrong_password_is_told_and_a_right_one_opens_the_lab(new_page: NewPage, member: User) -> None:
    page = new_page()
    page.goto("/")
    page.get_by_label("Name").fill("mira")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("No studies yet")).to_be_visible()


def test_a_grid_is_defined_launched_watched_and_finished(page: Page) -> None:
    page.keyboard.press("n")
    define_a_grid(page)
    page.get_by_label("Rounds", exact=True).fill("400")
    page.get_by_role("button", name="Launch 4 runs").click()
    expect(page.get_by_role("heading", name="Two strategies")).to_be_visible()
    wait_for_points(page, 2)
    wait_for_points(page, points(page) + 3)
    expect(page.locator("#study-live .chip.is-study")).to_have_text("done", timeout=TRAINED)
    expect(page.get_by_text("4 / 4 runs")).to_be_visible()
    wait_for_points(page, 401)
    expect(page.get_by_role("checkbox", name="Draw only FedProx (μ = 0.1)")).to_be_visible()
    # The words come with the next answer of the server, some seconds after the points.
    described = re.compile("Test accuracy, %, over rounds 0 to 400")
    expect(page.locator("[data-figure] .plot")).to_have_attribute("aria-label", described, timeout=TRAINED)


def test_where_a_proxy_swallows_event_streams_the_page_asks_every_two_seconds(page: Page, member: User) -> None:
    study = lab.launched(member, "Behind a proxy", clients=5)
    runs = lab.runs_in_order(study)
    page.route("**/api/v1/events**", lambda route: route.fulfill(status=204))
    page.goto(f"/studies/{study.pk}")
    expect(page.get_by_text("The first curve appears with the first evaluated round.")).to_be_visible()
    lab.record(runs[0], {"accuracy": [0.1, 0.2, 0.3]}, RunState.DONE)
    expect(page.get_by_text("1 / 6 runs")).to_be_visible()
    wait_until(
        page, "document.querySelector('[data-figure] .plot').data?.some((trace) => trace.name && trace.x.length === 3)"
    )


def test_a_stream_that_was_refused_is_opened_again(page: Page, member: User) -> None:
    study = lab.launched(member, "Much to do", clients=7)
    refused: list[str] = []

    def answer(route: Route) -> None:
        if refused:
            return route.continue_()
        refused.append(route.request.url)
        return route.fulfill(status=204)

    page.clock.install()
    page.route("**/api/v1/events**", answer)
    with page.expect_response(lambda response: response.status == 204):
        page.goto(f"/studies/{study.pk}")
        page.clock.fast_forward(2_000)
    with page.expect_response(lambda response: "/api/v1/events" in response.url and response.status == 200):
        page.wait_for_timeout(300)
        page.clock.fast_forward(10_000)


def test_readers_of_a_study_are_told_when_somebody_deletes_it(page: Page, member: User) -> None:
    study = lab.launched(member, "Soon gone", clients=6)
    # Its part is asked for once the stream has said its first words.
    with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
        page.goto(f"/studies/{study.pk}")
    expect(page.get_by_text("The first curve appears with the first evaluated round.")).to_be_visible()
    study_delete(study=study, actor=member)
    expect(page.get_by_text("This study was deleted.")).to_be_visible()


def test_a_page_that_was_told_nothing_says_that_its_study_is_gone(page: Page, member: User) -> None:
    study = lab.launched(member, "Gone unheard", clients=8)
    page.route("**/api/v1/events**", lambda route: route.fulfill(status=204))
    page.goto(f"/studies/{study.pk}")
    expect(page.get_by_text("The first curve appears with the first evaluated round.")).to_be_visible()
    study.delete()
    expect(page.get_by_text("This study was deleted.")).to_be_visible()
