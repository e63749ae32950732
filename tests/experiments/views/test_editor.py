from __future__ import annotations

from django.test import Client

from experiments.models import Study
from tests.experiments import lab

STUDY = {"name": "Rivers", "blocks": [lab.BLOCK]}


def test_the_page_carries_the_catalogs_fields_and_a_first_block(as_owner: Client) -> None:
    page = as_owner.get("/studies/new").content.decode()
    assert 'id="editor-fields"' in page
    assert "label-dirichlet" in page


def test_a_study_can_start_as_a_copy_of_another(as_owner: Client, study: Study) -> None:
    page = as_owner.get("/studies/new", {"like": study.pk}).content.decode()
    assert "Two strategies again" in page
    assert as_owner.get("/studies/new", {"like": "x"}).status_code == 404


def test_a_draft_is_answered_with_plan_and_yaml(as_owner: Client) -> None:
    answer = as_owner.post("/studies/draft", {"study": STUDY}, content_type="application/json").json()
    assert answer["plan"] == {"runs": 6, "cells": 2, "reused": 0}
    assert answer["yaml"].startswith("name: Rivers\nblocks:\n")
    again = as_owner.post("/studies/draft", {"yaml": answer["yaml"]}, content_type="application/json").json()
    assert again["study"] == STUDY


def test_launching_answers_with_the_studys_page(as_owner: Client) -> None:
    answer = as_owner.post("/studies/launch", {"study": STUDY}, content_type="application/json")
    study = Study.objects.get()
    assert (answer.status_code, answer.json()) == (201, {"url": f"/studies/{study.pk}"})
    assert (study.name, study.runs.count(), study.owner.username) == ("Rivers", 6, "owner")


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
