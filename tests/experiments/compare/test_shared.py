"""What somebody without an account sees through a link, and all that they do not."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.access.services.share_links import link_create
from experiments.compare.chart_builders import CHART_BUILDERS, CHARTS_BY_TAB
from experiments.compare.choices import TABS
from experiments.models import Study
from tests.experiments import lab

nobody = Client


def share(study: Study, query: str = "") -> str:
    _, secret = link_create(owner=study.owner, query=f"study={study.pk}&{query}", title="For reviewers")
    return f"/shared/{secret}"


@pytest.mark.parametrize("tab", TABS)
def test_each_tab_opens_logged_out_without_controls_or_names_of_people(study: Study, tab: str) -> None:
    answer = nobody().get(share(study, f"tab={tab}"))
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "<h1>For reviewers</h1>" in page
    for hidden in (
        'id="choices"',
        'form="choices"',
        "Save view",
        "data-events",
        "/api/v1",
        "owner",
        "Log out",
        "/studies/",
    ):
        assert hidden not in page, hidden


def test_it_asks_again_every_ten_seconds_only_while_runs_go_on(study: Study) -> None:
    address = share(study)
    assert 'data-clock="10000"' in nobody().get(address).content.decode()
    for run in lab.runs_in_order(study):
        lab.moved(run, lab.RunState.DONE)
    assert "data-clock" not in nobody().get(address).content.decode()


def test_only_the_charts_of_the_shared_tab_open(study: Study) -> None:
    for tab in TABS:
        address = share(study, f"tab={tab}")
        opened = {name for name in CHART_BUILDERS if nobody().get(f"{address}/charts/{name}").status_code == 200}
        assert opened == set(CHARTS_BY_TAB[tab])


def test_the_visitors_own_choices_count_for_nothing(study: Study) -> None:
    other = lab.launched(study.owner, "Secret study", rounds=5)
    for run in lab.runs_in_order(other):
        lab.record(run, {"accuracy": [0.3, 0.31415]})
    address = share(study, "band=none")
    query = {"study": other.pk, "run": [run.pk for run in lab.runs_in_order(other)], "metric": "loss"}
    chart = nobody().get(f"{address}/charts/curves", query).json()
    assert [trace["name"] for trace in chart["data"]] == ["FedAvg · n=3", "FedProx (μ = 0.1) · n=1"]
    for path in ("", "/charts/curves.csv", "/charts/table.csv", "/tables/values.tex", "/tables/values.md"):
        text = nobody().get(f"{address}{path}", query).content.decode()
        assert "Secret" not in text
        assert "0.31415" not in text
        assert "31.41" not in text


def test_the_rest_of_the_lab_stays_closed(study: Study) -> None:
    visitor = nobody()
    visitor.get(share(study))
    for path in ("/", "/compare", f"/studies/{study.pk}", f"/compare/charts/curves?study={study.pk}"):
        assert visitor.get(path).status_code == 302
    assert visitor.get("/api/v1/studies").status_code == 401


def test_neither_caches_nor_other_sites_learn_the_address(study: Study) -> None:
    for path in ("", "/charts/curves", "/charts/curves.csv", "/tables/values.tex"):
        headers = nobody().get(f"{share(study)}{path}").headers
        assert headers["Cache-Control"] == "private, no-store"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_it_is_read_only_and_a_wrong_secret_is_like_none(study: Study) -> None:
    assert nobody().post(share(study)).status_code == 405
    for path in ("/shared/nothing", "/shared/nothing/charts/curves", "/shared/nothing/tables/values.tex"):
        assert nobody().get(path).status_code == 404


def test_a_deleted_study_leaves_a_plain_word(study: Study) -> None:
    address = share(study)
    study.delete()
    assert "The runs of this view are gone" in nobody().get(address).content.decode()
