"""The grid editor: form and YAML are one study, and every problem is told where it was made."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def test_a_problem_appears_beside_its_field_and_goes_when_it_is_solved(page: Page) -> None:
    page.goto("/studies/new")
    rounds = page.get_by_label("Rounds", exact=True)
    rounds.fill("0")
    expect(page.locator("[data-errors-of=rounds]")).to_contain_text("greater than or equal to 1")
    expect(rounds).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Launch")).to_be_disabled()
    rounds.fill("5, 10")
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    expect(page.locator("[data-errors-of=rounds]")).to_have_text("")


def test_all_problems_are_told_at_once_and_wrong_values_are_marked(page: Page) -> None:
    page.goto("/studies/new")
    page.get_by_role("button", name="Change Optimizer sgd").click()
    page.get_by_role("dialog").get_by_label("Lr").fill("-1, 0.1")
    page.get_by_role("dialog").get_by_role("button", name="Use").click()
    page.get_by_label("Clients", exact=True).fill("many")
    expect(page.get_by_text("2 problems")).to_be_visible()
    expect(page.locator(".value.wrong")).to_contain_text("sgd · lr -1, 0.1")


def test_a_study_without_a_name_is_sent_back_to_its_name(page: Page) -> None:
    page.goto("/studies/new")
    page.get_by_role("button", name="Launch 3 runs").click()
    expect(page.get_by_text("A study needs a name.")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("Rivers")
    expect(page.get_by_text("A study needs a name.")).to_be_hidden()


def test_form_and_yaml_show_the_same_study(page: Page) -> None:
    page.goto("/studies/new")
    page.get_by_label("Name", exact=True).fill("Rivers")
    page.get_by_role("button", name="YAML").click()
    text = page.get_by_label("Study as YAML", exact=True)
    page.wait_for_function("document.getElementById('yaml').value.includes('strategy: {name: fedavg}')")
    text.fill(text.input_value().replace("{name: fedavg}", "[{name: fedavg}, {name: fedprox, mu: [0.1, 1]}]"))
    expect(page.get_by_text("3 cells × 3 seeds")).to_be_visible()
    page.get_by_role("button", name="Form").click()
    expect(page.get_by_role("button", name="Change Strategy fedprox · mu 0.1, 1")).to_be_visible()
    expect(page.get_by_text("9 runs", exact=True)).to_be_visible()


def test_broken_yaml_is_told_with_its_line(page: Page) -> None:
    page.goto("/studies/new")
    page.get_by_role("button", name="YAML").click()
    page.get_by_label("Study as YAML", exact=True).fill("name: x\nblocks: [")
    expect(page.locator("[data-errors=rest]")).to_contain_text("line 2")


def test_blocks_are_added_and_removed(page: Page) -> None:
    page.goto("/studies/new")
    page.get_by_role("button", name="Add a block").click()
    second = page.get_by_label("Block 2", exact=True)
    second.get_by_label("Batch size").fill("64")
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    second.get_by_role("button", name="Remove block").click()
    expect(page.get_by_text("1 cell × 3 seeds")).to_be_visible()
