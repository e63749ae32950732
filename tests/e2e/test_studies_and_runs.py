"""Studies are found, tagged, put away and deleted; a run shows what it found, and its log is followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker

from experiments.models import Attempt, Round, Run, RunState, Study, User
from tests.e2e.conftest import NewPage
from tests.e2e.waiting import wait_until
from tests.experiments import lab
from workers.home import home, log_file

PLOTTED = "(selector) => document.querySelector(`${selector} .plot`)?.data"


@pytest.fixture(scope="module")
def study(member: User, django_db_blocker: DjangoDbBlocker) -> Study:
    with django_db_blocker.unblock():
        made = lab.launched(member, "Rivers")
        Study.objects.filter(pk=made.pk).update(tags=["water"])
        lab.launched(member, "Mountains", rounds=3)
        for run in lab.runs_in_order(made)[:3]:
            lab.record(run, {"accuracy": [0.1, 0.5, 0.9], "loss": [2.0, 1.0, 0.5], "bytes_up": [0.0, 1e6, 1e6]})
        return made


@pytest.fixture(scope="module")
def run(study: Study, django_db_blocker: DjangoDbBlocker) -> Run:
    """Done, with clients, a confusion matrix and a model on disk."""
    with django_db_blocker.unblock():
        made = lab.runs_in_order(study)[0]
        Round.objects.filter(run=made, round=2).update(
            cohort=[-1, 0], clients={"-1": {"samples": 9}, "0": {"samples": 4}}
        )
        Attempt.objects.create(run=made, number=1, token="1" * 32, worker="w@lab", started=lab.NOON, outcome="done")
        made.findings = {"confusion": [[int(row == column) * 7 for column in range(10)] for row in range(10)]}
        made.artifact = f"runs/{made.pk}/artifacts/t/model.safetensors"
        made.save()
        (home() / made.artifact).parent.mkdir(parents=True, exist_ok=True)
        (home() / made.artifact).write_bytes(bytes(range(256)) * 5000)
        return made


def names(page: Page) -> list[str]:
    return page.locator("#study-list .study-name > a").all_inner_texts()


def test_studies_are_searched_as_one_types_and_listed_by_tag(page: Page, study: Study) -> None:
    page.goto("/studies")
    expect(page.locator("#study-list .study-name > a")).to_have_count(2)
    page.get_by_label("Search studies").fill("mountains")
    expect(page.locator("#study-list .study-name > a")).to_have_count(1)
    assert names(page) == ["Mountains"]
    page.goto("/studies")
    page.get_by_role("group", name="Tags").get_by_role("link", name="water").click()
    expect(page.locator("#study-list .study-name > a")).to_have_count(1)
    assert names(page) == ["Rivers"]
    page.get_by_role("link", name="water ×").click()
    expect(page.locator("#study-list .study-name > a")).to_have_count(2)


def open_menu(page: Page) -> None:
    page.get_by_label("State and actions").get_by_text("More").click()


def test_a_study_is_tagged_renamed_and_described(page: Page, study: Study) -> None:
    page.goto(f"/studies/{study.pk}")
    open_menu(page)
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Tags", exact=True).fill("deep")
    dialog.get_by_role("button", name="water").click()
    expect(dialog.get_by_label("Tags", exact=True)).to_have_value("deep, water")
    dialog.get_by_label("Description").fill("Where <they> flow")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Changed.")).to_be_visible()
    expect(page.get_by_role("paragraph").filter(has_text="Where <they> flow")).to_be_visible()
    expect(page.locator(".study-head").get_by_role("link", name="deep")).to_be_visible()


def test_a_study_is_put_away_and_brought_back(page: Page, study: Study) -> None:
    page.goto(f"/studies/{study.pk}")
    open_menu(page)
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("it is kept whole, but not listed")).to_be_visible()
    page.goto("/studies")
    assert names(page) == ["Mountains"]
    page.get_by_role("link", name="Archived 1").click()
    page.get_by_role("link", name="Rivers").click()
    open_menu(page)
    page.get_by_role("button", name="Bring back").click()
    expect(page.get_by_text("Back among the studies.")).to_be_visible()


def test_cells_are_ticked_to_be_drawn_alone(page: Page, study: Study) -> None:
    page.goto(f"/studies/{study.pk}")
    wait_until(page, f"({PLOTTED})('[data-figure]')?.length")
    page.get_by_label("Draw only FedProx (μ = 0.1)").check()
    expect(page.get_by_text("The first curve appears with the first evaluated round.")).to_be_visible()
    page.get_by_label("Draw only FedAvg").check()
    wait_until(page, f"({PLOTTED})('[data-figure]').some((trace) => trace.name?.startsWith('FedAvg'))")


def test_the_line_of_the_cell_that_is_pointed_at_stands_out(page: Page, study: Study) -> None:
    page.goto(f"/studies/{study.pk}")
    opacity = (
        "document.querySelector('#study-curves .plot')?.data?.find((each) => each.name?.startsWith('FedAvg'))?.opacity"
    )
    wait_until(page, f"{opacity} === 1")
    page.locator("tr[data-line='FedProx (μ = 0.1)']").hover()
    wait_until(page, f"{opacity} === 0.25")
    page.locator("h1").hover()
    wait_until(page, f"{opacity} === 1")


def test_a_run_shows_its_confusion_matrix_clients_and_cost(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}")
    wait_until(page, f"({PLOTTED})('#run-confusion')?.[0].z[3][3] === 1")
    expect(page.get_by_text("Every sample was classified rightly.")).to_be_visible()
    table = page.locator("#client-table")
    expect(table.get_by_role("row", name="shared of hybrid sharing 1 of 2 9")).to_be_visible()
    table.get_by_role("button", name="Samples").click()
    expect(table.locator("tbody tr").first).to_contain_text("4")
    wait_until(page, f"({PLOTTED})('#run-costs')?.[0].y.at(-1) === 2")


def test_smoothing_and_log_axes_leave_measured_points_in_view(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}")
    wait_until(page, f"({PLOTTED})('.run-chart')?.length === 1")
    page.get_by_label("Smoothing").select_option("strong")
    page.get_by_label("log values").check()
    wait_until(page, f"({PLOTTED})('.run-chart').length === 2")
    modes = page.evaluate(f"({PLOTTED})('.run-chart').map((trace) => [trace.mode, trace.y.length])")
    assert modes == [["lines", 3], ["markers", 3]]
    wait_until(page, "document.querySelector('.run-chart .plot').layout.yaxis.type === 'log'")


def test_the_model_is_downloaded_byte_for_byte(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}")
    with page.expect_download() as download:
        page.get_by_role("link", name="model.safetensors").click()
    assert download.value.suggested_filename == f"run-{run.pk}-model.safetensors"
    assert Path(download.value.path()).read_bytes() == (home() / run.artifact).read_bytes()


def test_the_log_is_followed_while_the_run_goes_on(page: Page, study: Study) -> None:
    run = lab.moved(lab.runs_in_order(study)[3], RunState.RUNNING)
    log_file(run.pk).parent.mkdir(parents=True, exist_ok=True)
    log_file(run.pk).write_text("Attempt 1\n")
    page.goto(f"/runs/{run.pk}")
    log = page.locator("pre.log")
    expect(log).to_have_text("Attempt 1\n")
    expect(page.get_by_label("Follow")).to_be_checked()
    with log_file(run.pk).open("a") as file:
        file.write("step <2>\n" * 200)
    expect(log).to_contain_text("step <2>")
    wait_until(
        page, "(log => log.scrollHeight - log.scrollTop - log.clientHeight < 2)(document.querySelector('pre.log'))"
    )
    log.evaluate("log => { log.scrollTop = 0; }")
    expect(page.get_by_label("Follow")).not_to_be_checked()


def test_deleting_says_what_goes_and_what_stays(member_page: NewPage, study: Study, member: User) -> None:
    half = lab.launched(member, "Half of it", strategy={"name": "fedavg"})
    page = member_page()
    page.goto(f"/studies/{half.pk}")
    open_menu(page)
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This cannot be undone.")
    expect(dialog).to_contain_text("No run: other studies hold all of them.")
    expect(dialog).to_contain_text("Rivers of mira: 3 runs")
    dialog.get_by_role("button", name="Keep").click()
    expect(dialog).to_be_hidden()
    open_menu(page)
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete the study").click()
    expect(page.get_by_text("It is being deleted, and in no list any more.")).to_be_visible()
    assert study.runs.count() == 6
