from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Study
from tests.experiments import lab

STUDY = {"name": "Rivers", "blocks": [lab.BLOCK]}


def test_the_page_carries_the_catalogs_fields_and_a_first_block(as_owner: Client) -> None:
    page = as_owner.get("/studies/new").content.decode()
    assert 'id="editor-kinds"' in page
    assert "label-dirichlet" in page


def test_a_study_can_start_as_a_copy_of_another(as_owner: Client, study: Study) -> None:
    page = as_owner.get("/studies/new", {"from": study.pk}).content.decode()
    assert "Two strategies again" in page
    assert as_owner.get("/studies/new", {"from": "x"}).status_code == 404


def test_a_draft_is_answered_with_plan_and_yaml(as_owner: Client) -> None:
    answer = as_owner.post("/studies/draft", {"study": STUDY}, content_type="application/json").json()
    assert {key: answer["plan"][key] for key in ("runs", "cells", "reused")} == {"runs": 6, "cells": 2, "reused": 0}
    assert answer["plan"]["estimate"]["workers"] == 0
    assert answer["yaml"].startswith("name: Rivers\nblocks:\n")
    again = as_owner.post("/studies/draft", {"yaml": answer["yaml"]}, content_type="application/json").json()
    assert again["study"] == STUDY


def test_launching_answers_with_the_studys_page(as_owner: Client) -> None:
    answer = as_owner.post("/studies/launch", {"study": STUDY}, content_type="application/json")
    study = Study.objects.get()
    assert (answer.status_code, answer.json()) == (201, {"url": f"/studies/{study.pk}"})
    assert (study.name, study.runs.count(), study.owner.username) == ("Rivers", 6, "owner")


def test_the_text_is_kept_as_it_was_written_and_given_back_as_a_file(as_owner: Client) -> None:
    text = as_owner.post("/studies/draft", {"study": STUDY}, content_type="application/json").json()["yaml"]
    own = f"# for the river\n{text}"
    as_owner.post("/studies/launch", {"study": STUDY, "yaml": own}, content_type="application/json")
    study = Study.objects.get()
    assert study.source == own
    file = as_owner.get(f"/studies/{study.pk}/study.yaml")
    assert file.headers["Content-Disposition"] == f'attachment; filename="study-{study.pk}.yaml"'
    assert file.content.decode() == own


def test_a_text_that_says_something_else_is_brought_in_line(as_owner: Client) -> None:
    as_owner.post("/studies/launch", {"study": STUDY, "yaml": "name: Old\n"}, content_type="application/json")
    assert Study.objects.get().source.startswith("name: Rivers\nblocks:\n")


def test_yaml_alone_can_be_launched(as_owner: Client) -> None:
    text = as_owner.post("/studies/draft", {"study": STUDY}, content_type="application/json").json()["yaml"]
    assert as_owner.post("/studies/launch", {"yaml": text}, content_type="application/json").status_code == 201
    assert as_owner.post("/studies/launch", {"yaml": "name: ["}, content_type="application/json").status_code == 422


def test_a_variation_remembers_what_it_varies(as_owner: Client, study: Study) -> None:
    varied = {"name": "Same but longer", "blocks": [{**lab.BLOCK, "rounds": 3}], "requires": "gpu"}
    data = {"study": varied, "like": {"from": study.pk}}
    changes = as_owner.post("/studies/draft", data, content_type="application/json").json()["changes"]
    assert changes == [{"path": "blocks.0.rounds", "title": "Rounds", "before": ["2"], "after": ["3"]}]
    as_owner.post("/studies/launch", data, content_type="application/json")
    assert Study.objects.latest("pk").parent == study


def test_a_run_can_be_varied_too(as_owner: Client, study: Study) -> None:
    run = lab.runs_in_order(study)[0]
    page = as_owner.get("/studies/new", {"run": run.pk}).content.decode()
    assert f"Same as run {run.pk}, but" in page
    data = {"study": STUDY, "like": {"run": run.pk}}
    as_owner.post("/studies/launch", data, content_type="application/json")
    assert Study.objects.latest("pk").parent == study


def test_the_runs_are_shown_before_they_are_launched(as_owner: Client) -> None:
    table = as_owner.post("/studies/preview", {"study": STUDY}, content_type="application/json").content.decode()
    assert table.count("<tr>") == 7
    assert "1–6 of 6" in table
    wrong = as_owner.post("/studies/preview", {"yaml": "name: ["}, content_type="application/json").content.decode()
    assert "The table appears when the study has no problems." in wrong


def test_everything_wrong_is_told_at_once_and_nothing_is_launched(as_owner: Client) -> None:
    wrong = {"name": " ", "blocks": [{**lab.BLOCK, "rounds": 0, "clients": "many"}]}
    answer = as_owner.post("/studies/launch", {"study": wrong}, content_type="application/json")
    assert answer.status_code == 422
    assert {error["path"] for error in answer.json()["errors"]} == {"name", "blocks.0.rounds", "blocks.0.clients"}
    assert not Study.objects.exists()


def test_a_viewer_launches_nothing(browsers: dict[str, Client]) -> None:
    answer = browsers["viewer"].post("/studies/launch", {"study": STUDY}, content_type="application/json")
    assert answer.status_code == 403
    assert not Study.objects.exists()


def test_what_is_not_json_is_refused_in_words(as_owner: Client) -> None:
    answer = as_owner.post("/studies/launch", "{", content_type="application/json")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"] == "A study is a mapping with name and blocks."


@pytest.mark.parametrize("address", ["/studies/draft", "/studies/preview", "/studies/launch", "/studies/portrait"])
@pytest.mark.parametrize(("name", "status"), [("viewer", 403), ("owner", 413)])
def test_what_is_too_large_or_a_viewers_is_refused_before_it_is_read(
    browsers: dict[str, Client], address: str, name: str, status: int
) -> None:
    text = "name: x\nblocks: [" + "{rounds: [1, 2, 3]}, " * 100_000 + "]"
    answer = browsers[name].post(address, {"yaml": text}, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"]) == (status, [])


def test_a_text_that_is_refused_by_its_size_is_not_read_for_its_lines(as_owner: Client) -> None:
    text = "name: x\nblocks:\n" + "  - rounds: 1\n" * 8000
    answer = as_owner.post("/studies/draft", {"yaml": text}, content_type="application/json").json()
    assert answer["errors"] == [
        {"path": "yaml", "message": "More than 100,000 characters: launch it over REST instead.", "line": None}
    ]
    assert (answer["study"], answer["yaml"], answer["plan"]) == ({}, text, None)
