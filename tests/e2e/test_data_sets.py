"""A lab brings its data here, and sees what the clients of a study would hold."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from experiments.datasets.services.jobs import home_import_folder
from tests.e2e.waiting import wait_until
from tests.experiments.originals import write_mnist


def test_a_folder_is_imported_with_progress_and_then_drawn_in_the_editor(page: Page) -> None:
    folder = write_mnist(home_import_folder() / "e2e-mnist", train=400, test=50)
    page.goto("/data-sets")
    mnist = page.locator("#dataset-mnist")
    expect(mnist).to_contain_text("not here yet")
    mnist.get_by_text("MNIST mnist").click()
    mnist.get_by_text("Import MNIST …").click()
    mnist.get_by_label("Folder or archive").fill(str(home_import_folder() / "nowhere"))
    mnist.get_by_role("button", name="Import MNIST from there").click()
    expect(mnist.get_by_role("alert")).to_contain_text("nowhere does not exist on the server.")
    mnist.get_by_label("Folder or archive").fill(str(folder))
    mnist.get_by_role("button", name="Import MNIST from there").click()
    expect(mnist.locator("progress")).to_be_visible()
    expect(mnist).to_contain_text("400 training and 50 test samples")
    expect(mnist.get_by_role("img", name="Samples of MNIST")).to_be_visible()
    expect(mnist.get_by_role("img", name="Training samples by class, from 40 to 40")).to_be_visible()
    see_it_in_the_editor(page)


def see_it_in_the_editor(page: Page) -> None:
    page.goto("/studies/new")
    held = page.get_by_role("region", name="What the clients hold")
    expect(held.locator(".plot .scatterlayer .trace")).to_have_count(1)
    expect(held).to_contain_text("this partition is IID in its labels")
    page.get_by_role("button", name="YAML", exact=True).click()
    text = page.get_by_label("Study as YAML", exact=True)
    wait_until(page, "document.getElementById('yaml').value.includes('partition: {name: iid}')")
    changed = text.input_value().replace("{name: digits}", "{name: mnist}").replace("mlp-50", "logistic")
    text.fill(changed.replace("{name: iid}", "[{name: shards}, {name: iid}]"))
    expect(held.get_by_role("combobox", name="Federation").locator("option")).to_have_text(
        ["Shards (per client = 2)", "IID"]
    )
    expect(held).to_contain_text(re.compile(r"Samples\s*400"))
    held.get_by_role("combobox", name="Federation").select_option("Shards (per client = 2)")
    expect(held).not_to_contain_text("IID in its labels")
    expect(held.get_by_role("img", name="Samples of some clients")).to_be_visible()


def test_a_table_is_looked_at_first_and_then_imported(page: Page) -> None:
    table = home_import_folder() / "e2e-patients.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{row},{'north' if row % 2 else 'south'},{'low' if row % 4 else 'high'}" for row in range(60)]
    table.write_text("\n".join(["age,ward,income", *rows]))
    page.goto("/data-sets?open=own")
    own = page.locator("#dataset-own")
    own.get_by_label("File or folder on the server").fill(str(table))
    own.get_by_label("Target").fill("incom")
    own.get_by_role("button", name="Preview").click()
    expect(own).to_contain_text("target: there is no column 'incom'. The columns are age, ward, income.")
    own.get_by_label("Target").fill("income")
    own.get_by_label("Client").fill("ward")
    own.get_by_role("button", name="Preview").click()
    expect(own).to_contain_text("48 to train, 12 to test; 2 clients")
    expect(own.get_by_label("Client")).to_have_value("ward")
    own.get_by_role("button", name="Import", exact=True).click()
    expect(own).to_contain_text("48 training and 12 test samples as e2e-patients")
    expect(own.get_by_role("img", name="Training samples by class")).to_be_visible()
