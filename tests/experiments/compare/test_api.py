from __future__ import annotations

import csv
from io import StringIO

import pytest
from django.test import Client

from experiments.models import SavedView, ShareLink, Study, User
from tests.experiments import lab


@pytest.fixture
def study(owner: User) -> Study:
    study = lab.launched(owner)
    for place, run in enumerate(lab.runs_in_order(study)):
        lab.record(run, {"accuracy": [0.1, 0.5 + place / 16]})
    return study


@pytest.fixture
def client(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_the_numbers_behind_a_chart_are_those_of_its_csv(client: Client, study: Study) -> None:
    answer = client.get("/api/v1/compare/curves", {"study": study.pk}).json()
    assert answer["title"] == "Test accuracy over rounds"
    assert answer["columns"] == ["cell", "strategy", "round", "mean", "std", "low", "high", "n", "lost", "missed"]
    # Seeds 0.5, 0.5625 and 0.625 at round 1.
    assert answer["rows"][1][1:] == ["fedavg", 1, 0.5625, 0.0625, 0.5, 0.625, 3, 0, 0]
    text = client.get("/compare/charts/curves.csv", {"study": study.pk}).content.decode()
    rows = list(csv.reader(StringIO(text)))
    assert rows[0] == answer["columns"]
    assert rows[1:] == [["" if value is None else str(value) for value in row] for row in answer["rows"]]


def test_a_verdict_carries_its_caveats(client: Client, study: Study) -> None:
    answer = client.get("/api/v1/compare/verdicts", {"study": study.pk}).json()
    # Seeds 0.5, 0.5625, 0.625 against 0.6875, 0.75, 0.8125: each differs by -0.1875 exactly.
    cells = answer.pop("cells")
    assert [(each["axes"]["strategy"], each["n"], each["mean"]) for each in cells] == [
        ("FedAvg", 3, 0.5625),
        ("FedProx (μ = 0.1)", 3, 0.75),
    ]
    # Student's t for two degrees of freedom: 4.302653 * 0.0625 / sqrt(3) = 0.155258.
    assert (cells[0]["low"], cells[0]["high"]) == pytest.approx((0.407242, 0.717758), abs=1e-6)
    assert answer == {
        "metric": "Test accuracy at the last round, %",
        "compared": "strategy",
        "overall": "Friedman's test compares three methods or more.",
        "verdicts": [
            {
                "first": "FedAvg",
                "second": "FedProx (μ = 0.1)",
                "settings": 1,
                "better": 0,
                "worse": 1,
                "ties": 0,
                "seeds": 3,
                "p": None,
                "verdict": "FedProx (μ = 0.1) is better (3 seeds).",
                "caveats": [
                    "One setting: nothing is said about others.",
                    "Only 3 matching seeds: the interval is wide, 5 or more say more.",
                ],
            }
        ],
        "left_out": 0,
    }


def test_an_unknown_chart_is_not_there_and_a_wrong_study_is_refused(client: Client, study: Study) -> None:
    assert client.get("/api/v1/compare/pie").status_code == 404
    assert client.get("/api/v1/compare/curves", {"study": "x"}).status_code == 422


def test_views_are_saved_listed_and_deleted(client: Client, stranger: User) -> None:
    answer = client.post("/api/v1/views", {"name": "Ours", "query": "study=1"}, content_type="application/json")
    assert (answer.status_code, answer.json()["owner"], answer.json()["shared"]) == (201, "owner", True)
    SavedView.objects.create(owner=stranger, name="Theirs", query="study=2", shared=False)
    listed = client.get("/api/v1/views").json()
    assert (listed["count"], [item["name"] for item in listed["items"]]) == (1, ["Ours"])
    assert client.delete(f"/api/v1/views/{SavedView.objects.get(name='Theirs').pk}").status_code == 404
    assert client.delete(f"/api/v1/views/{answer.json()['id']}").status_code == 204
    assert [view.name for view in SavedView.objects.all()] == ["Theirs"]


def test_a_link_is_told_once_opens_logged_out_and_closes_when_revoked(client: Client, study: Study) -> None:
    body = {"query": f"study={study.pk}", "title": "For reviewers", "days": 7}
    link = client.post("/api/v1/share-links", body, content_type="application/json").json()
    path = link["url"].removeprefix("http://testserver")
    assert Client().get(path).status_code == 200
    (listed,) = client.get("/api/v1/share-links").json()["items"]
    assert "url" not in listed
    assert (listed["title"], listed["prefix"]) == ("For reviewers", path.removeprefix("/shared/")[:8])
    assert client.delete(f"/api/v1/share-links/{link['id']}").status_code == 204
    assert Client().get(path).status_code == 410
    assert client.get("/api/v1/share-links").json()["count"] == 0


def test_others_links_are_neither_listed_nor_revoked(client: Client, study: Study, stranger: User) -> None:
    other = Client()
    other.force_login(stranger)
    body = {"query": f"study={study.pk}"}
    link = other.post("/api/v1/share-links", body, content_type="application/json").json()
    assert client.get("/api/v1/share-links").json()["count"] == 0
    assert client.delete(f"/api/v1/share-links/{link['id']}").status_code == 403
    assert ShareLink.objects.get().revoked is None
