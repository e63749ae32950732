from __future__ import annotations

import math
from typing import Any

import pytest
from django.test import Client

from experiments.compare.chart_builders import CHART_BUILDERS
from experiments.compare.choices import TABS
from experiments.models import RunState, Study, User
from tests.experiments import lab


def test_comparing_two_studies_draws_the_cells_of_both(as_owner: Client, study: Study) -> None:
    other = lab.launched(study.owner, "Longer", rounds=5, strategy={"name": "fedavg"})
    for run in lab.runs_in_order(other):
        lab.record(run, {"accuracy": [0.25, 0.75]})
    address = {"study": [study.pk, other.pk], "band": "none"}
    lines = as_owner.get("/compare/charts/curves", address).json()["data"]
    assert [line["name"] for line in lines] == [
        "FedAvg · 2 rounds · n=3",
        "FedAvg · 5 rounds · n=3",
        "FedProx (μ = 0.1) · 2 rounds · n=1",
    ]
    page = as_owner.get("/compare", address).content.decode()
    assert "90.00 ± 10.00" in page
    assert "75.00 ± 0.00" in page


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_opens_and_names_what_is_compared(as_owner: Client, study: Study, tab: str) -> None:
    page = as_owner.get("/compare", {"study": study.pk, "tab": tab}).content.decode()
    assert "<h1>Two strategies</h1>" in page
    assert "1 study · 6 runs in 2 cells" in page


@pytest.mark.parametrize("name", CHART_BUILDERS)
def test_every_chart_has_words_and_numbers_and_survives_empty_and_diverged_runs(
    as_owner: Client, study: Study, name: str
) -> None:
    lab.record(lab.runs_in_order(study)[5], {"accuracy": [0.1, math.nan]})
    answer = as_owner.get(f"/compare/charts/{name}", {"study": study.pk}).json()
    assert set(answer) == {"data", "layout", "title", "description", "notes", "legend", "empty"}
    assert answer["description"]
    nothing = as_owner.get(f"/compare/charts/{name}", {"study": 99999}).json()
    assert nothing["data"] == []
    assert as_owner.get(f"/compare/charts/{name}.csv", {"study": study.pk}).status_code == 200


def test_accuracy_against_the_share_of_attackers_has_a_line_for_each_defence(as_owner: Client, study: Study) -> None:
    attacked = lab.launched(
        study.owner,
        "Attacked",
        strategy=[{"name": "fedavg"}, {"name": "fedmedian"}],
        attack={"name": "sign-flip", "share": [0.0, 0.4]},
        clients=5,
        seeds=1,
    )
    for run, accuracy in zip(lab.runs_in_order(attacked), (0.75, 0.25, 0.5, 0.5), strict=True):
        lab.record(run, {"accuracy": [0.1, accuracy]})

    lines = as_owner.get("/compare/charts/against", {"study": attacked.pk, "against": "attack.share"}).json()["data"]

    assert [(line["name"], line["x"], line["y"]) for line in lines] == [
        ("FedAvg", [0.0, 0.4], [75.0, 25.0]),
        ("FedMedian", [0.0, 0.4], [50.0, 50.0]),
    ]


def test_accuracy_against_epsilon_is_offered_where_some_cell_has_privacy(as_owner: Client, study: Study) -> None:
    privacy = {"name": "central", "noise": 1.0, "delta": 0.01}
    strategy = {"name": "composed", "aggregate": {"name": "uniform"}}
    private = lab.launched(study.owner, "Private", strategy=strategy, privacy=[None, privacy], seeds=1)
    plain, noisy = lab.runs_in_order(private)
    lab.record(plain, {"accuracy": [0.1, 0.5, 0.9]})
    lab.record(noisy, {"accuracy": [0.1, 0.25, 0.75], "privacy.epsilon": [math.nan, 2.0, 3.0]})

    pages = [as_owner.get("/compare", {"study": each.pk}).content.decode() for each in (study, private)]
    lines = as_owner.get("/compare/charts/curves", {"study": private.pk, "x": "epsilon"}).json()["data"]

    assert ['<option value="epsilon"' in page for page in pages] == [False, True]
    assert [(line["x"], line["y"]) for line in lines] == [([2.0, 3.0], [25.0, 75.0])]


def test_facets_narrow_chart_and_table(as_owner: Client, study: Study) -> None:
    address = {"study": study.pk, "only": "strategy:fedavg", "band": "none"}
    lines = as_owner.get("/compare/charts/curves", address).json()["data"]
    assert [line["name"] for line in lines] == ["FedAvg · n=3"]


def test_the_target_is_told_in_the_legend(as_owner: Client, study: Study) -> None:
    answer = as_owner.get("/compare/charts/curves", {"study": study.pk, "target": "85"}).json()
    # Of 80, 90 and 100 percent at round 2, two seeds reach 85.
    assert answer["legend"][0]["text"] == "FedAvg · n=3 · target after 2 rounds (2 of 3 seeds)"


def test_figures_are_compressed(as_owner: Client, study: Study) -> None:
    answer = as_owner.get("/compare/charts/curves", {"study": study.pk}, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"


def test_it_follows_runs_only_while_some_go_on(as_owner: Client, study: Study) -> None:
    assert (
        f'data-events="/api/v1/events?study={study.pk}"'
        in as_owner.get("/compare", {"study": study.pk}).content.decode()
    )
    for run in lab.runs_in_order(study):
        lab.moved(run, lab.RunState.DONE)
    assert "data-events" not in as_owner.get("/compare", {"study": study.pk}).content.decode()


def test_nonsense_in_the_address_is_ignored(as_owner: Client, study: Study) -> None:
    address = {"study": ["x", "-1", "99999999999999999999"], "metric": "nothing\0", "band": "?", "across": "?"}
    assert as_owner.get("/compare", address).status_code == 200
    assert as_owner.get("/compare/charts/curves", address).json()["data"] == []
    assert as_owner.get("/compare/charts/nothing", address).status_code == 404
    assert as_owner.get("/compare/tables/values.docx", address).status_code == 404


def test_it_says_what_to_do_where_nothing_is_left(as_owner: Client, study: Study) -> None:
    page = as_owner.get("/compare", {"study": 99999}).content.decode()
    assert "Nothing is left to compare" in page


def test_strangers_see_nothing(browsers: dict[str, Client], study: Study) -> None:
    for address in ("/compare", "/compare/charts/curves", "/compare/charts/table.csv", "/compare/tables/values.tex"):
        answer = browsers["nobody"].get(address, {"study": study.pk})
        assert answer.status_code == 302, address


def test_the_number_of_queries_does_not_grow_with_cells(
    as_owner: Client, study: Study, django_assert_max_num_queries: Any
) -> None:
    many = lab.launched(study.owner, "Many", local=[{"epochs": epochs} for epochs in range(1, 9)])
    with django_assert_max_num_queries(16):
        as_owner.get("/compare", {"study": many.pk})
    with django_assert_max_num_queries(9):
        as_owner.get("/compare/charts/curves", {"study": many.pk})


def test_of_two_data_sets_the_data_set_is_the_first_axis(as_owner: Client, study: Study) -> None:
    other = lab.launched(study.owner, "On blobs", dataset={"name": "blobs"}, rounds=5)
    page = as_owner.get("/compare", {"study": [study.pk, other.pk]})
    assert page.context["facts"] == "Logistic regression · IID"
    assert page.context["varying"] == (
        "Digits and Blobs (made) · FedAvg and FedProx (μ = 0.1) · with the data set also 2 rounds and 5 rounds"
    )
    assert [facet.axis for facet in page.context["selection"].facets] == ["dataset", "strategy"]
    assert page.context["against"] == "dataset"
    assert len(page.context["selection"].cells) == 4


def test_a_number_that_is_studied_is_what_values_are_drawn_against(as_owner: Client, study: Study) -> None:
    """Two epochs with one data set and one with the other tell of the data set; alpha varies in both."""
    skew = {"name": "label-dirichlet", "alpha": [0.1, 1.0], "min_size": 1}
    local = {"epochs": 2}
    other = lab.launched(study.owner, "On blobs", dataset={"name": "blobs"}, partition=skew, local=local)
    page = as_owner.get("/compare", {"study": [study.pk, other.pk]})
    assert page.context["against"] == "partition.alpha"
    for run in other.runs.all():
        lab.record(run, {"accuracy": [0.1, 0.5]})
    skew_on_digits = lab.launched(study.owner, "On digits", partition=skew)
    for run in skew_on_digits.runs.all():
        lab.record(run, {"accuracy": [0.1, 0.75]})
    chart = as_owner.get("/compare/charts/against", {"study": [skew_on_digits.pk, other.pk]}).json()
    assert [words["text"] for words in chart["layout"]["annotations"]] == ["Blobs (made)", "Digits"]
    assert [(line["name"], line.get("xaxis", "x"), line["y"]) for line in chart["data"]] == [
        ("FedAvg", "x", [50.0, 50.0]),
        ("FedProx (μ = 0.1)", "x", [50.0, 50.0]),
        ("FedAvg", "x2", [75.0, 75.0]),
        ("FedProx (μ = 0.1)", "x2", [75.0, 75.0]),
    ]


def test_labels_are_renamed_for_the_view_and_not_in_its_files(as_owner: Client, study: Study) -> None:
    address = {"study": study.pk, "band": "none", "label.strategy:fedavg": " Our  baseline "}
    chart = as_owner.get("/compare/charts/curves", address).json()
    assert [line["name"] for line in chart["data"]] == ["Our baseline · n=3", "FedProx (μ = 0.1) · n=1"]
    assert "Our baseline" in as_owner.get("/compare", address).content.decode()
    first_row = as_owner.get("/compare/charts/curves.csv", address).content.decode().splitlines()[1]
    assert first_row.split(",")[1] == "fedavg"


def test_a_label_that_another_value_has_is_not_given_twice(as_owner: Client, study: Study) -> None:
    address = {"study": study.pk, "band": "none", "label.strategy:fedavg": "FedProx (μ = 0.1)"}
    chart = as_owner.get("/compare/charts/curves", address).json()
    assert [line["name"] for line in chart["data"]] == ["FedAvg · n=3", "FedProx (μ = 0.1) · n=1"]


def test_confusion_matrices_beyond_six_are_on_further_pages(as_owner: Client, owner: User) -> None:
    mus = {"name": "fedprox", "mu": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}
    study = lab.launched(owner, "Seven cells", strategy=mus, seeds=1)
    for run in lab.runs_in_order(study):
        run.findings = {"confusion": [[3, 1], [1, 3]]}
        lab.moved(run, RunState.DONE)
    first, second = (as_owner.get(f"/compare/charts/confusion?study={study.pk}&page={n}").json() for n in (1, 2))
    assert [(len(page["data"]), page["page"], page["pages"]) for page in (first, second)] == [(6, 1, 2), (1, 2, 2)]
    assert "1 of 7 cells are on other pages" in first["notes"]
    assert second["layout"]["annotations"][0]["text"] == "FedProx (μ = 0.7)<br>75.0% right"
