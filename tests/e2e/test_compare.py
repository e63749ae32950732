"""A comparison is built, taken along as LaTeX, CSV and pictures, kept, and shared with somebody who has no account."""

from __future__ import annotations

import csv
import re
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from experiments.models import Study, User
from tests.e2e.conftest import NewPage
from tests.experiments import lab


@pytest.fixture(scope="module")
def study(member: User, django_db_blocker: object) -> Study:
    """Two strategies on two partitions with three seeds, finished, with numbers written by hand."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        made = lab.launched(member, "Skew", partition=[{"name": "iid"}, {"name": "shards"}])
        for place, run in enumerate(lab.runs_in_order(made)):
            last = 0.5 + place / 32
            lab.record(
                run, {"accuracy": [0.1, last - 0.1, last], "bytes_up": [0.0, 1e6, 1e6], "seconds": [0.1, 0.2, 0.2]}
            )
        return made


@pytest.fixture
def compare(member_page: NewPage, study: Study) -> Page:
    page = member_page()
    page.goto(f"/compare?study={study.pk}")
    expect(page.locator("#chart-curves .plot .scatterlayer .js-line").first).to_be_visible()
    return page


def test_a_comparison_is_built_by_ticking_and_lives_in_the_address(member_page: NewPage, study: Study) -> None:
    page = member_page()
    page.goto("/compare")
    page.get_by_label("Search studies").fill("Ske")
    page.get_by_label("Skew").check()
    expect(page).to_have_url(re.compile(rf"/compare\?tab=overview&study={study.pk}$"))
    expect(page.get_by_text("12 runs in 4 cells")).to_be_visible()
    expect(page.get_by_label("Search studies")).to_be_visible()  # the picker stays for the next study
    page.get_by_label("Panels").select_option("partition")
    expect(page.locator("#chart-curves .annotation-text")).to_have_text(["IID", "Shards (per client = 2)"])
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Band").select_option("ci")
    expect(page.locator("#chart-curves figcaption")).to_contain_text("95 % confidence interval")
    page.get_by_role("textbox", name="Target").fill("60")
    page.get_by_role("textbox", name="Target").press("Enter")
    expect(page).to_have_url(re.compile("target=60"))
    expect(page.locator("#chart-curves .values").get_by_role("button", name="FedAvg")).to_be_visible()
    page.get_by_role("checkbox", name="Shards").check()
    expect(page.get_by_text("6 runs in 2 cells")).to_be_visible()
    page.reload()
    expect(page.get_by_text("narrowed to Shards (per client = 2)")).to_be_visible()


def test_a_label_is_renamed_in_charts_and_tables_and_kept_in_the_address(compare: Page) -> None:
    compare.evaluate("window.sameDocument = true")
    compare.get_by_role("button", name="Rename labels").click()
    dialog = compare.get_by_role("dialog", name="Rename labels")
    dialog.get_by_label("fedavg").fill("Baseline")
    dialog.get_by_label("fedavg").press("Tab")
    dialog.get_by_role("button", name="Done").click()
    expect(compare).to_have_url(re.compile("label.strategy%3Afedavg=Baseline"))
    expect(compare.locator("#chart-curves .values")).to_contain_text("Baseline")
    expect(compare.locator("#table")).to_contain_text("Baseline")
    assert compare.evaluate("window.sameDocument")  # nothing but charts, controls and table has changed


def test_a_label_with_tags_is_text_at_the_end_of_its_line(member_page: NewPage, study: Study) -> None:
    label = '<a href="//e.example">B</a>'
    page = member_page()
    page.set_viewport_size({"width": 1900, "height": 900})  # where lines have names at their ends
    page.goto(f"/compare?study={study.pk}&only=partition:iid&label.strategy%3Afedavg={quote(label)}")
    expect(page.locator("#chart-curves .values")).to_contain_text(label)
    expect(page.locator("#chart-curves .annotation-text")).to_have_text(["FedProx (μ = 0.1)", label])
    expect(page.locator("#chart-curves .plot svg a")).to_have_count(0)


def test_every_tab_opens_with_its_charts(compare: Page) -> None:
    for tab, heading in (
        ("Is it better?", "The answer"),
        ("Cost", "Against traffic"),
        ("Clients and classes", "Single clients were not evaluated in these runs"),
    ):
        compare.get_by_role("link", name=tab).click()
        expect(compare.get_by_role("heading", name=heading)).to_be_visible()
    compare.get_by_role("link", name="Specs").click()
    expect(compare.get_by_role("row", name="strategy fedavg fedprox")).to_be_visible()


def test_the_table_is_copied_as_latex(compare: Page) -> None:
    panel = compare.locator("#table")
    panel.get_by_text("Download").click()
    panel.get_by_role("link", name="LaTeX table").click()
    text = compare.get_by_label("Text to copy")
    expect(text).to_have_value(re.compile(r"\\begin\{tabular\}\{@\{\}lrr@\{\}\}"))
    compare.get_by_role("button", name="Copy", exact=True).click()
    expect(compare.get_by_text("Copied.")).to_be_visible()


def test_the_numbers_behind_a_chart_are_those_of_the_api(compare: Page, study: Study, tmp_path: Path) -> None:
    panel = compare.locator("#chart-curves")
    panel.get_by_text("Download").click()
    with compare.expect_download() as download:
        panel.get_by_role("link", name="CSV").click()
    download.value.save_as(tmp_path / "curves.csv")
    found = list(csv.reader(StringIO((tmp_path / "curves.csv").read_text())))
    answer = compare.request.get(f"/api/v1/compare/curves?study={study.pk}").json()
    assert found[0] == answer["columns"]
    assert [row[-6] for row in found[1:]] == [str(row[-6]) for row in answer["rows"]]
    assert len(found) == 1 + 4 * 3


def test_charts_are_taken_along_as_paper_figures_and_words(compare: Page, tmp_path: Path) -> None:
    panel = compare.locator("#chart-curves")
    panel.get_by_text("Download").click()
    panel.get_by_role("link", name="Paper figure").click()
    dialog = compare.get_by_role("dialog", name="Paper figure")
    expect(dialog.get_by_role("img", name="The figure as it will be printed")).to_be_visible()
    expect(dialog.get_by_label("For LaTeX")).to_have_value(re.compile(r"\\includegraphics\{compare-curves\}"))
    dialog.get_by_label("Width").select_option("text")
    expect(dialog.get_by_label("For LaTeX")).to_have_value(re.compile(r"\\begin\{figure\*\}"))
    with compare.expect_download() as download:
        dialog.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "compare-curves.pdf"
    download.value.save_as(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF-")
    dialog.get_by_role("button", name="Close").click()
    panel.get_by_text("Download").click()
    panel.get_by_role("button", name="Describe it in words").click()
    expect(panel.locator(".words")).to_contain_text("Test accuracy, %, against rounds, mean over seeds.")


def test_a_view_is_saved_and_opened_again(compare: Page) -> None:
    compare.get_by_role("button", name="Save view").click()
    dialog = compare.get_by_role("dialog", name="Save this view")
    dialog.get_by_label("Name").fill("Skewed")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    compare.goto("/compare")
    compare.get_by_role("link", name="Skewed").click()
    expect(compare.get_by_role("heading", name="Skew", exact=True)).to_be_visible()


def test_a_link_opens_for_somebody_without_an_account_until_it_is_revoked(compare: Page, new_page: NewPage) -> None:
    compare.get_by_role("button", name="Share").click()
    dialog = compare.get_by_role("dialog")
    dialog.get_by_label("Title").fill("For the reviewers")
    dialog.get_by_role("button", name="Make a link").click()
    address = dialog.get_by_label("The link, shown only now")
    expect(address).to_have_value(re.compile("/shared/"))
    link = address.input_value()
    visitor = new_page()
    visitor.goto(link)
    expect(visitor.get_by_role("heading", name="For the reviewers")).to_be_visible()
    expect(visitor.locator("#chart-curves .plot .scatterlayer .js-line").first).to_be_visible()
    expect(visitor.get_by_role("button", name="Save view")).to_have_count(0)
    visitor.goto("/compare")
    expect(visitor.get_by_label("Password")).to_be_visible()
    compare.reload()
    compare.get_by_role("button", name="Share").click()
    compare.get_by_role("button", name="Revoke").click()
    expect(compare.get_by_role("button", name="Revoke")).to_have_count(0)
    assert visitor.request.get(link).status == 410
