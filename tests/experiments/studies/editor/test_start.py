from __future__ import annotations

from pathlib import Path

from experiments.models import User
from experiments.studies.editor.clone import empty_start, start_from_app, start_from_run, start_from_study
from experiments.studies.editor.draft import DraftRequest, check_draft
from experiments.studies.editor.source import study_from_yaml
from experiments.studies.services.launch import study_launch
from tests.experiments import lab


def test_a_new_study_starts_with_something_that_can_be_launched(owner: User) -> None:
    start = empty_start()
    draft = check_draft(owner, DraftRequest(study=start.study))
    assert draft.plan is not None
    assert (draft.plan.runs, draft.plan.cells, draft.errors) == (3, 1, [])
    assert study_from_yaml(start.text)["blocks"] == start.study["blocks"]


def test_a_study_is_varied_from_the_text_it_was_written_as(owner: User) -> None:
    text = (
        "name: Mine  # yes\nblocks:\n- dataset: {name: digits}\n  model: {name: logistic}\n  strategy: {name: fedavg}\n"
    )
    study = study_launch(owner=owner, name="Mine", blocks=study_from_yaml(text)["blocks"], source=text, priority=3)
    start = start_from_study(study)
    assert (start.parent, start.words, start.text) == (study, "Mine", text)
    assert start.study["name"] == "Mine again"
    assert start.study["priority"] == 3
    assert list(start.study["blocks"][0]) == ["dataset", "model", "strategy"]


def test_a_run_is_varied_as_a_block_without_what_is_default(owner: User) -> None:
    study = lab.launched(owner)
    run = lab.runs_in_order(study)[4]
    start = start_from_run(run)
    assert start.parent == study
    assert start.study["blocks"] == [
        {
            "dataset": {"name": "digits"},
            "model": {"name": "logistic"},
            "strategy": {"name": "fedprox", "mu": 0.1},
            "partition": {"name": "iid"},
            "clients": 3,
            "rounds": 2,
            "local": {"optimizer": {"name": "sgd"}},
            "seeds": [1],
        }
    ]
    again = check_draft(owner, DraftRequest(study=start.study))
    assert again.plan is not None
    assert (again.plan.runs, again.plan.reused) == (1, 1)


def test_a_run_of_a_component_that_is_gone_is_shown_as_it_was(owner: User) -> None:
    run = lab.runs_in_order(lab.launched(owner))[0]
    run.spec["strategy"] = {"name": "fedgone", "depth": 3}
    block = start_from_run(run).study["blocks"][0]
    assert block["strategy"] == {"name": "fedgone", "depth": 3}
    assert "attack" not in block


def test_a_study_starts_with_an_app_as_it_is_by_default(apps: Path, owner: User) -> None:
    start = start_from_app("torch-digits")
    assert start is not None
    assert start.study["blocks"] == [{"app": {"name": "torch-digits", "clients": 10}, "seeds": 3}]
    draft = check_draft(owner, DraftRequest(study=start.study))
    assert draft.errors == []
    assert start_from_app("nothing") is None
