from __future__ import annotations

from typing import Any

import pytest

from experiments.editor.draft import draft, first_study, yaml_from_study
from experiments.editor.order import in_spec_order
from experiments.models import User
from tests.experiments import lab

STUDY: dict[str, Any] = {"name": "Rivers", "tags": ["water"], "blocks": [lab.BLOCK]}


def paths(errors: list[dict[str, str]]) -> list[str]:
    return [error["path"] for error in errors]


def test_it_counts_what_would_be_launched(owner: User) -> None:
    assert draft(owner=owner, study=STUDY).plan == {"runs": 6, "cells": 2, "reused": 0}
    lab.launched(owner, seeds=2)
    assert draft(owner=owner, study=STUDY).plan == {"runs": 6, "cells": 2, "reused": 4}


def test_yaml_and_data_are_the_same_study(owner: User) -> None:
    text = draft(owner=owner, study=STUDY).yaml
    again = draft(owner=owner, text=text)
    assert again.study == STUDY
    assert (again.yaml, again.errors) == (text, [])


def test_it_lists_every_error_at_the_path_where_it_was_written(owner: User) -> None:
    wrong = {**lab.BLOCK, "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": -1}], "rounds": 0, "speed": 1}
    found = draft(owner=owner, study={"name": "", "blocks": [wrong]})
    assert found.plan is None
    assert set(paths(found.errors)) == {"blocks.0.strategy.1.mu", "blocks.0.rounds", "blocks.0.speed"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [", "expected"),
        ("- a\n- b", "A study is a mapping"),
        ("name: x\nblocks: [&a {rounds: 1}, *a]", "Write values out"),
        ("name: x\nblocks: [{rounds: .nan}]", "finite"),
        ("name: x\nblocks: [{rounds: 1}]\ncolour: red", "Unknown field"),
        (f"name: {'x' * 200_001}", "More than 200,000 characters"),
    ],
)
def test_it_says_what_is_wrong_with_a_text(owner: User, text: str, words: str) -> None:
    found = draft(owner=owner, text=text)
    assert found.plan is None
    assert words in " ".join(error["message"] for error in found.errors)


def test_a_viewer_gets_no_plan(viewer: User) -> None:
    found = draft(owner=viewer, study=STUDY)
    assert found.plan is None
    assert "Ask an admin" in found.errors[0]["message"]


def test_a_new_study_starts_with_something_that_can_be_launched(owner: User) -> None:
    assert draft(owner=owner, study=first_study()).plan == {"runs": 3, "cells": 1, "reused": 0}


def test_specs_are_written_in_the_order_in_which_people_think() -> None:
    shuffled = {"seed": 0, "strategy": {"mu": 0.1, "name": "fedprox"}, "dataset": {"name": "digits"}, "rounds": 3}
    assert list(in_spec_order(shuffled)) == ["dataset", "strategy", "rounds", "seed"]
    assert yaml_from_study({"blocks": [shuffled], "name": "x", "description": ""}) == (
        "name: x\nblocks:\n- dataset: {name: digits}\n  strategy: {name: fedprox, mu: 0.1}\n  rounds: 3\n  seed: 0\n"
    )
