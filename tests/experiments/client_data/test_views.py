"""What clients hold: in the editor, on a study, on a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from experiments.housekeeping.tasks import jobs_carry_out
from experiments.models import Job, User
from tests.experiments import lab

BLOCK: dict[str, Any] = {
    "dataset": {"name": "blobs", "shape": [[1, 4, 4]], "train": 400},
    "partition": [{"name": "iid"}, {"name": "classes-per-client", "k": 2}],
    "clients": 5,
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))


def post_draft(client: Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/studies/portrait", body, content_type="application/json")
    content: dict[str, Any] = answer.json()
    return content


def test_the_editor_offers_each_partition_and_draws_the_first(as_owner: Client) -> None:
    answer = post_draft(as_owner, blocks=[BLOCK])
    assert answer["options"] == ["IID", "Classes per client (k = 2)"]
    assert answer["chosen"] == "IID"
    assert answer["warnings"] == ["Labels are spread evenly: this partition is IID in its labels."]
    assert {fact["name"]: fact["value"] for fact in answer["facts"]}["Samples a client"] == "80"
    assert answer["pictures"]["rows"] == ["0", "1", "2", "3", "4"]


def test_another_partition_is_drawn_when_it_is_chosen(as_owner: Client) -> None:
    answer = post_draft(as_owner, blocks=[BLOCK], of="Classes per client (k = 2)")
    assert answer["chosen"] == "Classes per client (k = 2)"
    assert answer["warnings"] == []
    assert {fact["name"]: fact["value"] for fact in answer["facts"]}["Classes a client"] == "2"


def test_a_draft_that_is_not_valid_yet_has_no_picture_but_a_sentence(as_owner: Client) -> None:
    for blocks in (None, [], [{"dataset": {"name": "blobs"}, "clients": "many"}]):
        answer = post_draft(as_owner, blocks=blocks)
        assert answer["options"] == []
        assert answer["problem"].startswith("The picture appears when the study has no problems")
    assert as_owner.post("/studies/portrait", "{", content_type="application/json").json()["options"] == []


def test_data_that_is_not_here_is_told(as_owner: Client) -> None:
    answer = post_draft(as_owner, blocks=[{"dataset": {"name": "mnist"}}])
    assert answer["problem"] == "mnist is not here yet: fetch or import it on the Data sets page."


def test_a_study_and_its_runs_have_their_pictures(as_owner: Client, owner: User) -> None:
    study = lab.launched(owner, dataset={"name": "blobs"}, partition=BLOCK["partition"], clients=5)
    assert as_owner.get(f"/studies/{study.pk}/portrait").json()["options"] == ["IID", "Classes per client (k = 2)"]
    chosen = as_owner.get(f"/studies/{study.pk}/portrait", {"of": "Classes per client (k = 2)"}).json()
    assert chosen["chosen"] == "Classes per client (k = 2)"
    run = lab.runs_in_order(study)[0]
    answer = as_owner.get(f"/runs/{run.pk}/portrait").json()
    assert (answer["options"], answer["pictures"]) == (["IID"], None)
    assert 'data-portrait="' in as_owner.get(f"/runs/{run.pk}").content.decode()
    assert 'data-portrait="' in as_owner.get(f"/studies/{study.pk}").content.decode()
    assert 'data-portrait="' in as_owner.get("/studies/new").content.decode()


def test_pictures_are_served_and_strangers_see_none(browsers: dict[str, Client]) -> None:
    address = post_draft(browsers["owner"], blocks=[BLOCK])["pictures"]["url"]
    assert browsers["viewer"].get(address).headers["Content-Type"] == "image/png"
    assert browsers["nobody"].get(address).status_code == 302
    assert browsers["nobody"].post("/studies/portrait").status_code == 401


LARGE = {"dataset": {"name": "blobs", "train": 200_000}, "clients": 20}


def test_a_large_federation_is_computed_in_the_background_once(as_owner: Client) -> None:
    for _ in range(2):
        answer = post_draft(as_owner, blocks=[LARGE])
        assert (answer["pending"], answer["options"]) == ("It is being computed: look again in some seconds.", ["IID"])
    assert jobs_carry_out() == 1
    facts = post_draft(as_owner, blocks=[LARGE])["facts"]
    assert {fact["name"]: fact["value"] for fact in facts}["Samples"] == "200,000"


def test_a_program_is_told_to_ask_again(as_owner: Client, owner: User) -> None:
    run = lab.runs_in_order(lab.launched(owner, **LARGE))[0]
    answer = as_owner.get(f"/api/v1/runs/{run.pk}/partition")
    assert (answer.status_code, answer.headers["Retry-After"]) == (202, "2")
    assert answer.json() == {"detail": "It is being computed: look again in some seconds.", "errors": []}
    jobs_carry_out()
    assert as_owner.get(f"/api/v1/runs/{run.pk}/partition").json()["samples"] == 200_000


def test_what_could_not_be_computed_is_told_and_not_tried_at_every_look(as_owner: Client) -> None:
    impossible = {**LARGE, "clients": 200, "partition": {"name": "label-dirichlet", "alpha": 0.01, "min_size": 990}}
    assert "pending" in post_draft(as_owner, blocks=[impossible])
    assert jobs_carry_out() == 1
    assert "problem" in post_draft(as_owner, blocks=[impossible])
    assert Job.objects.count() == 1
