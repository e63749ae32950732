"""The grid editor: a grid by mouse and by keyboard, its count while it grows, and every problem where it was made."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from experiments.models import Study, User
from tests.e2e.conftest import PASSWORD, NewPage
from tests.e2e.editing import choose
from tests.experiments import lab

YAML = """\
# Why: the river is wide
name: From a file   # for now
blocks:
  - dataset: {name: digits}
    model: {name: logistic}
    strategy: {name: fedavg}
    rounds: 4  # quick
    seeds: 2
"""


def editor(page: Page, address: str = "/studies/new") -> Page:
    page.goto(address)
    expect(page.get_by_role("button", name="Launch")).to_be_enabled()
    return page


def study_text(page: Page) -> str:
    return page.get_by_label("Study as YAML", exact=True).input_value()


def tab_to(page: Page, label: str) -> None:
    """As far as it takes, with nothing but the Tab key."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if (
            page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")
            == label
        ):
            return
    raise AssertionError(f"Tab never came to {label!r}")


def test_a_grid_of_two_axes_is_built_with_the_mouse_and_launched(page: Page) -> None:
    editor(page).get_by_label("Name", exact=True).fill("By mouse")
    page.get_by_label("Clients", exact=True).fill("7")
    page.get_by_role("button", name="Add a value to Strategy").click()
    dialog = page.get_by_role("dialog")
    choose(dialog, "Strategy", "fedprox")
    expect(dialog).to_contain_text("Li et al.: Federated Optimization in Heterogeneous Networks")
    expect(dialog).to_contain_text("Weight of the proximal term. 0 or more. Default 0.01.")
    dialog.get_by_label("Mu", exact=True).fill("0.01, 0.1")
    dialog.get_by_role("button", name="Use").click()
    expect(page.get_by_text("3 cells × 3 seeds")).to_be_visible()
    page.get_by_role("button", name="Add a value to Hybrid ratio").click()
    page.get_by_role("button", name="from–to–step").click()
    for name, value in {"from": "0", "to": "0.4", "step": "0.2"}.items():
        page.get_by_label(f"Hybrid ratio: {name}").fill(value)
    page.get_by_role("button", name="Add 3 values").click()
    expect(page.get_by_role("button", name="Change Hybrid ratio 0.2")).to_be_visible()
    expect(page.get_by_text("9 cells × 3 seeds")).to_be_visible()
    expect(page.get_by_text("would cross the network")).to_be_visible()
    page.get_by_label("Device").select_option("gpu")
    expect(page.get_by_text("on one worker; none is there now")).to_be_visible()
    page.get_by_role("button", name="Launch 27 runs").click()
    expect(page.get_by_role("heading", name="By mouse")).to_be_visible()
    study = Study.objects.get(name="By mouse")
    assert (study.runs.count(), study.requires) == (27, "gpu")
    assert sorted({run.spec["hybrid"]["ratio"] for run in study.runs.all()}) == [0.0, 0.2, 0.4]


def test_a_strategy_of_flowers_is_chosen_with_its_arguments(page: Page) -> None:
    editor(page).get_by_role("button", name="Add a value to Strategy").click()
    dialog = page.get_by_role("dialog")
    choose(dialog, "Strategy", "flower")
    dialog.get_by_label("Class", exact=True).fill("flwr.serverapp.strategy.FedAdam")
    assert "flwr.serverapp.strategy.Krum" in dialog.locator("datalist option").evaluate_all(
        "all => all.map(o => o.value)"
    )
    dialog.get_by_label("Arguments", exact=True).fill("eta: [0.1, much], fraction_train: 0.5")
    dialog.get_by_role("button", name="Use").click()
    expect(page.get_by_text("Expected a number, got 'much'.").first).to_be_visible()
    expect(page.get_by_text("set cohort or fraction instead.").first).to_be_visible()
    page.get_by_role("button", name="Change Strategy flower").click()
    expect(dialog.get_by_label("Arguments", exact=True)).to_have_value("{eta: [0.1, much], fraction_train: 0.5}")
    dialog.get_by_label("Arguments", exact=True).fill("eta: [0.1, 0.2]")
    dialog.get_by_role("button", name="Use").click()
    expect(page.get_by_text("3 cells × 3 seeds")).to_be_visible()


def test_a_composed_strategy_is_three_lines_with_their_own_parameters(page: Page) -> None:
    editor(page).get_by_role("button", name="Add a value to Strategy").click()
    dialog = page.get_by_role("dialog")
    choose(dialog, "Strategy", "composed")
    dialog.get_by_label("Client", exact=True).select_option("fedprox")
    dialog.get_by_label("Mu", exact=True).fill("0.1, 1")
    dialog.get_by_label("Aggregate", exact=True).select_option("median")
    dialog.get_by_role("button", name="Use").click()
    parts = "client = FedProx (μ = 0.1, 1); aggregate = Median"
    expect(page.get_by_text("3 cells × 3 seeds")).to_be_visible()
    page.get_by_role("button", name=f"Change Strategy Composed ({parts})").click()
    expect(dialog.get_by_label("Mu", exact=True)).to_have_value("0.1, 1")
    dialog.get_by_label("Server", exact=True).select_option("adam")
    dialog.get_by_role("button", name="Use").click()
    expect(page.get_by_role("button", name=f"Change Strategy Composed ({parts}; server = Adam)")).to_be_visible()


def test_a_grid_of_two_axes_is_built_with_the_keyboard_and_launched(page: Page) -> None:
    editor(page).get_by_label("Clients", exact=True).fill("8")
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("By keyboard")
    tab_to(page, "Add unify to Hybrid method")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    tab_to(page, "Number of seeds")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 cells × 2 seeds")).to_be_visible()
    tab_to(page, "Add a value to Rounds")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Value for Rounds", exact=True)).to_be_focused()
    for value in ("5", "30..50 by 10"):
        page.keyboard.type(value)
        page.keyboard.press("Enter")
        expect(page.get_by_label("Value for Rounds", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Add a value to Rounds")).to_be_focused()
    expect(page.get_by_text("10 cells × 2 seeds")).to_be_visible()
    page.get_by_label("Device").select_option("gpu")
    page.get_by_label("Name", exact=True).focus()
    tab_to(page, "Launch 20 runs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="By keyboard")).to_be_visible()
    rounds = {run.rounds_total for run in Study.objects.get(name="By keyboard").runs.all()}
    assert sorted(rounds) == [5, 20, 30, 40, 50]


def test_enter_in_a_parameter_uses_it(page: Page) -> None:
    editor(page).get_by_role("button", name="Change Optimizer sgd").click()
    page.get_by_role("dialog").get_by_label("Lr", exact=True).fill("0.1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Change Optimizer SGD (lr = 0.1)")).to_be_visible()


def test_only_what_fits_is_offered_and_the_rest_says_why(page: Page) -> None:
    editor(page).get_by_role("button", name="Add a value to Model").click()
    refused = page.get_by_role("option").filter(has_text="(lenet)")
    expect(refused).to_have_attribute("aria-disabled", "true")
    expect(refused).to_contain_text("Pictures of 8 x 8 are too small")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Change Partition iid").click()
    page.get_by_role("combobox", name="Partition").fill("natural")
    expect(page.get_by_role("option").filter(has_text="natural").first).to_have_attribute("aria-disabled", "true")


def test_a_problem_appears_beside_its_field_and_goes_when_it_is_solved(page: Page) -> None:
    rounds = editor(page).get_by_label("Rounds", exact=True)
    rounds.fill("0")
    expect(page.locator("[data-errors-of=rounds]")).to_contain_text("greater than or equal to 1")
    expect(rounds).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Launch")).to_be_disabled()
    rounds.fill("5, 10")
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    expect(page.locator("[data-errors-of=rounds]")).to_have_text("")
    rounds.blur()
    expect(page.get_by_role("button", name="Remove Rounds 10")).to_be_visible()


def test_all_problems_are_told_at_once_and_wrong_values_are_marked(page: Page) -> None:
    editor(page).get_by_role("button", name="Change Optimizer sgd").click()
    page.get_by_role("dialog").get_by_label("Lr", exact=True).fill("-1, 0.1")
    page.get_by_role("dialog").get_by_role("button", name="Use").click()
    page.get_by_label("Clients", exact=True).fill("many")
    expect(page.locator("[data-runs]")).to_have_text("2 problems")
    expect(page.locator(".value.wrong")).to_contain_text("SGD (lr = -1, 0.1)")


def test_a_study_without_a_name_is_sent_back_to_its_name(page: Page) -> None:
    editor(page).get_by_role("button", name="Launch 3 runs").click()
    expect(page.locator("[data-errors=name]")).to_have_text("A study needs a name.")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("Rivers")
    expect(page.locator("[data-errors=name]")).to_have_text("")


def test_form_and_yaml_show_the_same_study(page: Page) -> None:
    editor(page).get_by_label("Name", exact=True).fill("Rivers")
    page.get_by_role("button", name="YAML", exact=True).click()
    text = page.get_by_label("Study as YAML", exact=True)
    expect(text).to_have_value(re.compile("name: Rivers"))
    text.fill(text.input_value().replace("{name: fedavg}", "[{name: fedavg}, {name: fedprox, mu: [0.1, 1]}]"))
    expect(page.get_by_text("3 cells × 3 seeds")).to_be_visible()
    page.get_by_role("button", name="Form").click()
    expect(page.get_by_role("button", name="Change Strategy FedProx (μ = 0.1, 1)")).to_be_visible()
    expect(page.get_by_text("9 runs", exact=True)).to_be_visible()


def test_broken_yaml_is_told_with_its_line_and_a_wrong_value_can_be_gone_to(page: Page) -> None:
    editor(page).get_by_role("button", name="YAML", exact=True).click()
    text = page.get_by_label("Study as YAML", exact=True)
    text.fill("name: x\nblocks: [")
    expect(page.locator("[data-errors=yaml]")).to_contain_text("line 3")
    page.get_by_role("button", name="Form").click()
    expect(text).to_have_value("name: x\nblocks: [")
    text.fill(YAML.replace("rounds: 4", "rounds: 0"))
    page.get_by_role("button", name="line 7").click()
    assert page.evaluate("getSelection().toString()") == "    rounds: 0  # quick"


def test_a_file_comes_in_is_changed_in_the_form_and_goes_out_with_its_comments(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(YAML)
    editor(page).locator("[data-upload]").set_input_files(file)
    expect(page.get_by_text("1 cell × 2 seeds")).to_be_visible()
    page.get_by_role("button", name="Form").click()
    page.get_by_label("Rounds", exact=True).fill("9")
    expect(page.locator("#yaml")).to_have_value(re.compile("rounds: 9"))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download YAML").click()
    assert download.value.suggested_filename == "from-a-file.yaml"
    assert download.value.path().read_text() == YAML.replace("rounds: 4", "rounds: 9")


def test_the_runs_are_seen_before_they_are_launched(page: Page, member: User) -> None:
    run = lab.runs_in_order(lab.launched(member, "There already", seeds=1))[0]
    editor(page).get_by_role("button", name="YAML", exact=True).click()
    page.get_by_label("Study as YAML", exact=True).fill(study_yaml())
    expect(page.get_by_text("2 already there, reused")).to_be_visible()
    page.get_by_role("button", name="Runs 60").click()
    table = page.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(51)
    expect(table.get_by_role("columnheader")).to_have_text(["#", "Strategy", "Seed", "State"])
    expect(table.get_by_role("link", name=f"queued, run {run.pk}")).to_be_visible()
    page.get_by_role("button", name="Later").click()
    expect(table.get_by_role("row")).to_have_count(11)
    expect(page.get_by_text("51–60 of 60")).to_be_visible()


def study_yaml() -> str:
    from experiments.studies.editor.source import yaml_from_study

    return yaml_from_study({"name": "More of it", "blocks": [{**lab.BLOCK, "seeds": 30}]})


def test_a_study_is_varied_and_the_difference_is_shown(page: Page, member: User) -> None:
    study = lab.launched(member, "The first one", clients=9)
    editor(page, f"/studies/new?from={study.pk}")
    changes = page.get_by_role("region", name="Same as The first one, but")
    expect(changes).to_contain_text("Nothing is different yet.")
    page.get_by_label("Rounds", exact=True).fill("7")
    page.get_by_role("button", name="Remove Strategy FedAvg").click()
    expect(changes.locator("del")).to_have_text(["FedAvg", "2"])
    expect(changes.locator("ins")).to_have_text(["7"])
    page.get_by_label("Name", exact=True).fill("The second one")
    page.get_by_role("button", name="Launch 3 runs").click()
    expect(page.get_by_role("heading", name="The second one")).to_be_visible()
    assert Study.objects.get(name="The second one").parent == study


def test_blocks_are_added_and_removed(page: Page) -> None:
    editor(page).get_by_role("button", name="Add a block").click()
    second = page.get_by_label("Block 2", exact=True)
    second.get_by_label("Batch size", exact=True).fill("64")
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()
    expect(second.locator("[data-block-runs]")).to_have_text("3 runs")
    second.get_by_role("button", name="Remove block").click()
    expect(page.get_by_text("1 cell × 3 seeds")).to_be_visible()


def test_many_federations_are_chosen_axis_by_axis(page: Page) -> None:
    editor(page).get_by_role("button", name="YAML", exact=True).click()
    block = "{dataset: {name: blobs}, model: {name: logistic}, strategy: {name: fedavg}, clients: 4, "
    axes = "partition: [{name: iid}, {name: shards}], hybrid: {ratio: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}}"
    page.get_by_label("Study as YAML", exact=True).fill(f"name: x\nblocks: [{block}{axes}]")
    group = page.get_by_role("group", name="Federation")
    group.get_by_label("Hybrid ratio").select_option("50 %")
    expect(page.locator(".portrait .facts")).to_contain_text("shared")
    group.get_by_label("Partition").select_option("Shards (per client = 2)")
    expect(group.get_by_label("Hybrid ratio")).to_have_value("50 %")


def test_a_text_that_is_too_large_is_told(page: Page) -> None:
    editor(page).get_by_role("button", name="YAML", exact=True).click()
    text = page.get_by_label("Study as YAML", exact=True)
    expect(text).to_be_visible()
    text.evaluate(
        "(field) => { field.value = '# ' + 'x'.repeat(3e6); field.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(page.get_by_text("This is larger than the 2.6 MB that are taken here. Nothing was changed.")).to_be_visible()
    expect(page.get_by_role("button", name="Launch")).to_be_disabled()


def test_strategies_that_train_on_different_shares_are_told_beside_the_count(page: Page) -> None:
    editor(page).get_by_role("button", name="Add a value to Strategy").click()
    dialog = page.get_by_role("dialog")
    choose(dialog, "Strategy", "fedloss")
    dialog.get_by_role("button", name="Use").click()
    warning = page.locator("[data-facts] .warning")
    expect(warning).to_contain_text("FedLoss trains on 90% of each client's data, FedAvg on 100%")
    expect(page.get_by_role("button", name="Launch")).to_be_enabled()


def test_a_component_is_found_by_typing_and_the_usual_one_comes_first(page: Page) -> None:
    editor(page).get_by_role("button", name="Add a value to Strategy").press("Enter")
    picker = page.get_by_role("combobox", name="Strategy")
    expect(picker).to_be_focused()
    offers = page.get_by_role("listbox", name="Choices").get_by_role("option")
    expect(offers.first).to_contain_text("(fedavg)")
    page.keyboard.type("prox")
    expect(offers.first).to_contain_text("(fedprox)")
    page.keyboard.press("Enter")
    expect(picker).to_have_value(re.compile("fedprox"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_text("2 cells × 3 seeds")).to_be_visible()


def test_a_data_set_that_is_not_here_says_so_in_the_list(page: Page) -> None:
    editor(page).get_by_role("button", name="Add a value to Data set").click()
    states = page.get_by_role("listbox", name="Choices").locator(".chip").all_text_contents()
    assert states == sorted(states, reverse=True)
    assert set(states) == {"ready", "not here yet"}


def test_a_problem_is_named_and_leads_to_its_field(page: Page) -> None:
    editor(page).get_by_label("Rounds", exact=True).fill("0")
    problem = page.locator("[data-problems] li")
    expect(problem).to_contain_text("Rounds: Input should be greater than or equal to 1")
    problem.get_by_role("button", name="Rounds").click()
    expect(page.get_by_label("Rounds", exact=True)).to_be_focused()
    page.get_by_role("button", name="YAML", exact=True).click()
    page.get_by_label("Study as YAML", exact=True).fill(YAML.replace("rounds: 4", "round: 4"))
    expect(problem).to_contain_text("Did you mean rounds?")


def test_too_many_seeds_are_refused_aloud_and_many_runs_ask_first(page: Page) -> None:
    editor(page).get_by_label("Name", exact=True).fill("Too many?")
    count = page.get_by_label("Number of seeds")
    count.fill("20000")
    count.press("Enter")
    expect(page.locator("[data-row=seeds] [role=alert]")).to_have_text(
        "Between 1 and 10,000 seeds: 20000 was not taken."
    )
    count.fill("1001")
    count.press("Enter")
    page.get_by_role("button", name="Launch 1,001 runs").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 cell × 1,001 seeds")
    dialog.get_by_role("button", name="Keep").click()
    assert not Study.objects.filter(name="Too many?").exists()


def test_a_draft_outlives_a_reload_and_a_closed_tab(page: Page) -> None:
    editor(page).get_by_label("Name", exact=True).fill("Half a thought")
    expect(page.get_by_text("Draft saved in this browser.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Half a thought")
    tab = page.context.new_page()
    page.close()
    tab.goto("/studies/new")
    expect(tab.get_by_label("Name", exact=True)).to_have_value("")
    tab.get_by_role("button", name="Go on with Half a thought").click()
    expect(tab.get_by_label("Name", exact=True)).to_have_value("Half a thought")
    tab.get_by_role("button", name="Start anew").click()
    tab.get_by_role("dialog").get_by_role("button", name="Start anew").click()
    expect(tab.get_by_label("Name", exact=True)).to_have_value("")
    expect(tab.get_by_role("region", name="Drafts")).to_be_hidden()


def test_whoever_is_logged_out_while_writing_logs_in_and_launches(new_page: NewPage, member: User) -> None:
    page = new_page()
    page.goto("/log-in")
    page.get_by_label("Name").fill("mira")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.goto("/studies/new?")
    page.get_by_label("Name", exact=True).fill("Not lost")
    page.get_by_label("Device").select_option("gpu")
    page.context.clear_cookies(name="sessionid")
    page.get_by_label("Rounds", exact=True).fill("3")
    expect(page.get_by_text("You are logged out: log in.")).to_be_visible()
    page.get_by_role("button", name="Log in").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Password").fill("wrong")
    dialog.get_by_role("button", name="Log in").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The name or the password is wrong")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("You are logged out: log in.")).to_be_hidden()
    page.get_by_role("button", name="Launch 3 runs").click()
    expect(page.get_by_role("heading", name="Not lost")).to_be_visible()
    assert {run.rounds_total for run in Study.objects.get(name="Not lost").runs.all()} == {3}
