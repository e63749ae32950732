"""A lab's own Flower app: found on its page, varied in a grid built with the mouse, and compared."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from experiments.models import Study, User
from tests.experiments import lab
from tests.experiments.conftest import EXAMPLES
from workers.apps.library import add_app, library_folder

NAME = "numpy-least-squares"
TORCH = "torch-digits"


@pytest.fixture(scope="module", autouse=True)
def apps() -> Iterator[None]:
    """Added, as an admin does it: the running platform sees them."""
    add_app(EXAMPLES / NAME)
    add_app(EXAMPLES / TORCH)
    yield
    shutil.rmtree(library_folder(), ignore_errors=True)


def study_text(page: Page) -> str:
    return page.get_by_label("Study as YAML", exact=True).input_value()


def test_learning_rates_of_an_app_are_launched_with_the_mouse_and_compared(page: Page) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Apps").click()
    app = page.get_by_role("region", name=NAME)
    expect(app.get_by_text("can be imported", exact=True)).to_be_visible(timeout=60_000)
    app.get_by_role("link", name="New study with this app").click()
    page.get_by_label("Name", exact=True).fill("Learning rates of an app")
    page.get_by_role("button", name="Add a value to learning-rate").click()
    page.get_by_role("textbox", name="Value for learning-rate").fill("0.01, 1")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("num-server-rounds", exact=True).fill("2")
    expect(page.get_by_text("3 cells × 3 seeds")).to_be_visible()
    expect(page.get_by_role("heading", name="What the clients hold")).to_be_hidden()
    page.get_by_label("Device").select_option("gpu")
    page.get_by_role("button", name="Launch 9 runs").click()
    expect(page.get_by_role("heading", name="Learning rates of an app")).to_be_visible()
    study = Study.objects.get(name="Learning rates of an app")
    assert study.blocks == [
        {
            "app": {"name": NAME, "clients": 10, "config": {"learning-rate": [0.1, 0.01, 1], "num-server-rounds": 2}},
            "seeds": 3,
        }
    ]
    for place, run in enumerate(lab.runs_in_order(study)):
        lab.record(run, {"accuracy": [0.1, 0.5, 0.6 + place / 100], "loss": [2.0, 1.0, 0.5]})
    page.get_by_role("link", name="Compare", exact=True).last.click()
    expect(page.get_by_text("9 runs in 3 cells")).to_be_visible()
    curves = page.locator("#chart-curves")
    for label in ("learning-rate 0.1", "learning-rate 0.01", "learning-rate 1"):
        expect(curves.get_by_role("button", name=label, exact=True)).to_be_visible()
    expect(page.locator("select[name=against]")).to_have_value("app.learning-rate")
    expect(page.locator("table").get_by_text("67.00 ± 1.00")).to_be_visible()


def with_epochs(text: str) -> str:
    """One key more in the config: on a line of its own, or on the line that a short config began with and keeps."""
    if "batch-size: 16}" in text:
        return text.replace("batch-size: 16", "batch-size: 16, epochs: 3")
    return re.sub("( +)batch-size: 16", r"\1batch-size: 16\n\1epochs: 3", text)


def test_a_block_becomes_one_of_an_app_and_its_fields_are_the_apps_own(page: Page) -> None:
    page.goto("/studies/new")
    block = page.get_by_role("region", name="Block 1")
    block.get_by_role("button", name="Flower app").click()
    block.get_by_label("App", exact=True).select_option(TORCH)
    block.get_by_label("optimizer.lr", exact=True).fill("0.2, 0.4")
    block.get_by_label("batch-size", exact=True).fill("half")
    problem = block.locator('[data-number="app.config.batch-size"] .errors')
    expect(problem).to_have_text("A whole number, as the app's default is, got 'half'.")
    block.get_by_label("batch-size", exact=True).fill("16")
    expect(problem).to_have_count(0)
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    page.get_by_role("button", name="YAML", exact=True).click()
    text = page.get_by_label("Study as YAML", exact=True)
    expect(text).to_have_value(re.compile(r"optimizer: \{lr: \[0\.2, 0\.4\]\}"))
    right = study_text(page)
    text.fill(with_epochs(right))
    expect(page.get_by_text("app.config.epochs: Unknown field.")).to_be_visible()
    text.fill(right)
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    page.get_by_role("button", name="Form", exact=True).click()
    expect(block.get_by_role("button", name="Change optimizer.lr 0.4")).to_be_visible()
    page.get_by_role("button", name="Runs", exact=False).first.click()
    expect(page.get_by_role("columnheader", name="optimizer.lr")).to_be_visible()
    page.get_by_role("button", name="Form", exact=True).click()
    block.get_by_role("button", name="Catalog").click()
    expect(block.get_by_role("button", name="Add a value to Strategy")).to_be_visible()


def test_a_study_of_an_app_is_varied(page: Page, member: User) -> None:
    study = lab.launched_app(member, "To be varied")
    page.goto(f"/studies/new?from={study.pk}")
    page.get_by_role("button", name="Remove learning-rate 0.01").click()
    changes = page.locator("[data-changes]")
    expect(changes).to_contain_text("learning-rate")
    expect(changes.locator("del")).to_have_text("0.01")
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
