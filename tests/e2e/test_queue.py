"""The queue and the workers in a browser: cancelling, retrying, many at once, draining, with a real worker."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.db.models.functions import Now
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from experiments.models import RunState, Study, User, Worker
from experiments.queue.selectors.workers import ALIVE_FOR
from experiments.studies.services.changes import study_cancel
from experiments.studies.services.launch import study_launch
from tests.e2e.conftest import NewPage
from tests.experiments import lab
from tests.live import LivePlatform, eventually

LONG = {**lab.BLOCK, "strategy": {"name": "fedavg"}, "rounds": 100_000, "seeds": 1, "engine": "cohort"}


@pytest.fixture
def database(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def running(member: User, database: None) -> Iterator[Study]:
    """A long run, in the hands of the worker."""
    study = study_launch(owner=member, name="A long one", blocks=[LONG])
    eventually(lambda: study.runs.filter(state=RunState.RUNNING, rounds_done__gte=1).exists())
    yield study
    study_cancel(study=study, actor=member)
    eventually(lambda: not study.runs.filter(state=RunState.RUNNING).exists())


@pytest.fixture
def waiting(member: User, database: None) -> Iterator[Study]:
    """Six runs that no worker takes, as they need a GPU."""
    study = lab.launched(member, "Waits for a GPU")
    yield study
    study.runs.all().delete()
    study.delete()


def row(run: int) -> str:
    return f"#run-{run}"


def unfold(page: Page) -> None:
    """The queue shows one line for the runs of a cell."""
    page.locator(".queue-cell").evaluate_all("cells => cells.forEach((cell) => { cell.open = true; })")


def test_a_running_run_is_watched_and_cancelled(page: Page, running: Study) -> None:
    page.goto("/queue")
    run = running.runs.get()
    mine = page.locator(row(run.pk))
    expect(mine.locator(".progress-cell")).to_have_text(
        re.compile(r"/ 100,000 rounds · [\d.]+ rounds/(s|min) · ≈ .+ left")
    )
    mine.get_by_role("button", name=f"Cancel run {run.pk}").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text("The run is being cancelled.")).to_be_visible()
    expect(mine).to_be_hidden()
    page.goto("/queue?state=cancelled")
    expect(mine.locator(".chip")).to_have_text("cancelled")
    mine.get_by_role("button", name=f"Retry run {run.pk}").click()
    expect(
        page.get_by_text("The run is queued again: from its last checkpoint, or anew where something changed.")
    ).to_be_visible()
    eventually(lambda: run.attempts.count() == 2)


def test_ticked_runs_are_cancelled_together_and_retried_together(page: Page, waiting: Study) -> None:
    first, second, third, *_ = (run.pk for run in lab.runs_in_order(waiting))
    page.goto(f"/queue?study={waiting.pk}")
    expect(page.get_by_label(f"Tick run {first}", exact=True)).to_be_hidden()
    unfold(page)
    page.get_by_label(f"Tick run {first}", exact=True).check()
    page.get_by_label(f"Tick run {third}", exact=True).check()
    expect(page.get_by_text("2 ticked")).to_be_visible()
    page.get_by_role("button", name="Cancel ticked runs").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the runs").click()
    expect(page.get_by_text("2 runs cancelled; those at work stop within seconds.")).to_be_visible()
    expect(page.locator(row(first))).to_be_hidden()
    expect(page.locator(row(second))).to_be_visible()
    page.get_by_role("link", name="cancelled 2").click()
    page.get_by_label("Tick this page").check()
    expect(page.get_by_text("2 ticked")).to_be_visible()
    page.get_by_role("button", name="Retry ticked runs").click()
    expect(page.get_by_text("2 runs queued again, each from its last checkpoint.")).to_be_visible()
    assert waiting.runs.filter(state=RunState.QUEUED).count() == 6


def test_ticks_stay_while_the_page_changes_by_itself(page: Page, waiting: Study) -> None:
    first, second, *_ = lab.runs_in_order(waiting)
    page.goto("/queue")
    unfold(page)
    page.get_by_label(f"Tick run {second.pk}", exact=True).check()
    lab.moved(first, RunState.DONE)
    page.evaluate("document.body.dispatchEvent(new CustomEvent('live', { bubbles: true }))")
    expect(page.locator(row(first.pk))).to_be_hidden()
    expect(page.get_by_label(f"Tick run {second.pk}", exact=True)).to_be_checked()
    expect(page.get_by_text("1 ticked")).to_be_visible()


def test_ticks_stay_when_a_note_above_them_comes_or_goes(page: Page, waiting: Study) -> None:
    note = page.get_by_text("No worker is running.")

    def seen_without_workers() -> bool:
        """The real one beats every few seconds, perhaps just before the page is made."""
        Worker.objects.update(heartbeat=Now() - ALIVE_FOR)
        page.goto("/queue")
        return note.is_visible()

    eventually(seen_without_workers)
    page.get_by_label("Tick Waits for a GPU").check()
    Worker.objects.update(heartbeat=Now())

    def hidden_once_read_again() -> bool:
        """Nobody is told of a heartbeat, so that a part which was made just before serves for some seconds."""
        page.evaluate("document.body.dispatchEvent(new CustomEvent('live', { bubbles: true }))")
        page.wait_for_timeout(500)
        return note.is_hidden()

    eventually(hidden_once_read_again)
    expect(page.get_by_label("Tick Waits for a GPU")).to_be_checked()


def test_a_study_is_paused_resumed_and_given_a_priority(page: Page, waiting: Study) -> None:
    page.goto("/queue?person=mira")
    page.get_by_label("Tick Waits for a GPU").check()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("1 study paused: running runs go on, queued ones wait.")).to_be_visible()
    expect(page.locator(f"#study-{waiting.pk} .chip.is-study")).to_have_text("paused")
    page.get_by_label("Tick Waits for a GPU").check()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("1 study resumed.")).to_be_visible()
    page.get_by_label("Priority of Waits for a GPU").fill("7")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 study given the new priority.")).to_be_visible()
    waiting.refresh_from_db()
    assert (waiting.priority, waiting.paused) == (7, False)
    assert "person=mira" in page.url


def test_an_admin_drains_a_worker_and_lets_it_work_again(
    new_page: NewPage, live_platform: LivePlatform, running: Study
) -> None:
    admin = User.objects.create_user("boss", role="admin")
    client = Client()
    client.force_login(admin)
    page = new_page()
    page.context.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_platform.base_url}]
    )
    page.goto("/workers")
    panel = page.locator(".worker").first
    expect(panel.locator(".chip")).to_have_text("at work")
    expect(panel).to_contain_text("A long one by mira")
    panel.get_by_role("button", name="Pause worker").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause the worker").click()
    expect(page.get_by_text("takes no further run")).to_be_visible()
    expect(panel.locator(".chip")).to_have_text("drained")
    expect(panel).to_contain_text("Takes no run until it is resumed.")
    panel.get_by_role("button", name="Resume").click()
    expect(panel.locator(".chip")).to_have_text("at work")
