from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.models import User
from experiments.studies.editor.draft import Draft, DraftRequest, check_draft
from tests.experiments import lab

STUDY: dict[str, Any] = {"name": "Rivers", "tags": ["water"], "blocks": [lab.BLOCK]}


def drafted(owner: User, study: Any = None, text: str | None = None, **options: Any) -> Draft:
    return check_draft(owner, DraftRequest(study=study, text=text, **options))


def counts(draft: Draft) -> tuple[int, int, int]:
    assert draft.plan is not None
    return draft.plan.runs, draft.plan.cells, draft.plan.reused


def paths(draft: Draft) -> list[str]:
    return [error["path"] for error in draft.errors]


def test_it_counts_what_would_be_launched(owner: User) -> None:
    assert counts(drafted(owner, STUDY)) == (6, 2, 0)
    lab.launched(owner, seeds=2)
    assert counts(drafted(owner, STUDY)) == (6, 2, 4)


def test_each_block_has_its_own_count_and_notes(owner: User) -> None:
    draft = drafted(owner, {"name": "", "blocks": [lab.BLOCK, {**lab.BLOCK, "seeds": 5, "rounds": [1, 2]}]})
    assert draft.runs == [6, 20]
    assert draft.notes[0] == {
        "dataset": "1,437 train · 360 test · 10 classes · no natural clients",
        "model": "650 parameters",
    }


def test_yaml_and_data_are_the_same_study(owner: User) -> None:
    text = drafted(owner, STUDY).yaml
    again = drafted(owner, text=text)
    assert again.study == STUDY
    assert (again.yaml, again.errors) == (text, [])


def test_the_form_keeps_the_comments_of_the_text_it_started_from(owner: User) -> None:
    written = drafted(owner, STUDY).yaml.replace("rounds: 2", "rounds: 2  # quick")
    changed = {**STUDY, "blocks": [{**lab.BLOCK, "rounds": 3}]}
    assert "rounds: 3  # quick" in drafted(owner, changed, written=written).yaml


def test_it_lists_every_error_at_the_path_and_the_line_where_it_was_written(owner: User) -> None:
    wrong = {**lab.BLOCK, "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": -1}], "rounds": 0, "speed": 1}
    draft = drafted(owner, {"name": "x", "blocks": [wrong]})
    assert draft.plan is None
    assert set(paths(draft)) == {"blocks.0.strategy.1.mu", "blocks.0.rounds", "blocks.0.speed"}
    lines = {error["path"]: draft.yaml.splitlines()[error["line"] - 1] for error in draft.errors}
    assert lines["blocks.0.rounds"].strip() == "rounds: 0"
    assert "mu: -1" in lines["blocks.0.strategy.1.mu"]


def test_data_that_is_not_here_is_an_error_beside_the_counts(owner: User) -> None:
    draft = drafted(owner, {"name": "", "blocks": [{**lab.BLOCK, "dataset": {"name": "mnist"}}]})
    assert counts(draft) == (6, 2, 0)
    assert [(error["path"], error["message"]) for error in draft.errors] == [
        ("blocks.0.dataset", "mnist is not here yet: fetch or import it on the Data sets page.")
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [", "expected"),
        ("- a\n- b", "A study is a mapping"),
        ("name: x\nblocks: [&a {rounds: 1}, *a]", "Write values out"),
        ("name: x\nblocks: [{rounds: .nan}]", "finite"),
        ("name: x\nblocks: [{rounds: 1}]\ncolour: red", "Unknown field"),
        ("name: x\nblocks: [{rounds: []}]", "This axis has no values"),
        ("name: x\nblocks: []", "at least one block"),
        (f"name: {'x' * 100_001}", "More than 100,000 characters"),
    ],
)
def test_it_says_what_is_wrong_with_a_text(owner: User, text: str, words: str) -> None:
    draft = drafted(owner, text=text)
    assert draft.plan is None
    assert words in " ".join(error["message"] for error in draft.errors)


@pytest.mark.parametrize("blocks", ["x", 3, None, ["x"], [None], [[{}]], [{"strategy": "fedavg", "seeds": "many"}]])
def test_blocks_of_any_shape_are_answered_in_words(owner: User, blocks: Any) -> None:
    draft = drafted(owner, {"name": "x", "blocks": blocks})
    assert draft.plan is None
    assert draft.errors


def test_a_viewer_gets_no_plan(viewer: User) -> None:
    draft = drafted(viewer, STUDY)
    assert draft.plan is None
    assert "Ask an admin" in draft.errors[0]["message"]


def test_it_tells_what_differs_from_where_it_started(owner: User) -> None:
    draft = drafted(owner, {**STUDY, "blocks": [{**lab.BLOCK, "rounds": 9}]}, like=STUDY)
    assert [(change.path, change.before, change.after) for change in draft.changes] == [
        ("blocks.0.rounds", ("2",), ("9",))
    ]


def test_cells_that_train_on_different_shares_are_told(owner: User) -> None:
    strategies = [{"name": "fedavg"}, {"name": "fedloss"}]
    draft = drafted(owner, {"name": "x", "blocks": [{**lab.BLOCK, "strategy": strategies}]})
    assert (draft.plan and draft.plan.warnings) == (
        "FedLoss trains on 90% of each client's data, FedAvg on 100%: "
        "set evaluation.validation: 0.1 for all to compare them fairly.",
    )
    assert draft.errors == []


def test_a_block_of_an_app_is_counted_and_keeps_its_yaml(apps: Path, owner: User) -> None:
    study = {"name": "Rates", "blocks": [lab.APP_BLOCK]}
    draft = drafted(owner, study)
    assert (counts(draft), draft.runs, draft.misfits, draft.notes) == ((9, 3, 0), [9], [{}], [{}])
    assert drafted(owner, text=draft.yaml).study == study


def test_mistakes_in_a_block_of_an_app_have_their_paths_and_lines(apps: Path, owner: User) -> None:
    config = "      optimizer: {lr: [0.1, fast]}\n      epochs: 3\n"
    text = f"name: x\nblocks:\n- app:\n    name: torch-digits\n    config:\n{config}"
    draft = drafted(owner, text=text)
    assert [(error["path"], error["line"]) for error in draft.errors] == [
        ("blocks.0.app.config.epochs", 7),
        ("blocks.0.app.config.optimizer.lr.1", 6),
    ]


def test_an_app_that_is_not_there_is_told_at_its_name(apps: Path, owner: User) -> None:
    draft = drafted(owner, {"blocks": [{"app": {"name": "nothing"}}]})
    assert paths(draft) == ["blocks.0.app.name"]
    assert draft.errors[0]["message"].startswith("There is no app nothing. Known: actions-and-lifespans,")
