from __future__ import annotations

from datetime import UTC, datetime

from experiments.compare.selectors.cells import selected_cells, selected_studies, tags_in_use
from experiments.models import User
from tests.experiments import lab


def test_cells_come_in_the_order_of_the_grid_with_their_seeds(owner: User) -> None:
    study = lab.launched(owner)
    cells = selected_cells(studies=[study], runs=[])
    assert [(cell.spec["strategy"]["name"], [run.seed for run in cell.runs]) for cell in cells] == [
        ("fedavg", [0, 1, 2]),
        ("fedprox", [0, 1, 2]),
    ]
    assert {cell.source for cell in cells} == {"Two strategies"}


def test_a_run_that_two_studies_hold_counts_once(owner: User) -> None:
    first, second = lab.launched(owner, "One"), lab.launched(owner, "Two")
    cells = selected_cells(studies=[first, second], runs=[])
    assert [len(cell.runs) for cell in cells] == [3, 3]
    assert {cell.source for cell in cells} == {"One"}


def test_single_runs_are_picked_and_keep_the_name_of_the_chosen_study(owner: User) -> None:
    lab.launched(owner, "First")
    second = lab.launched(owner, "Second")
    run = lab.runs_in_order(second)[0]
    (alone,) = selected_cells(studies=[], runs=[run.pk])
    assert ([each.pk for each in alone.runs], alone.source) == ([run.pk], "First")
    assert selected_cells(studies=[second], runs=[run.pk])[0].source == "Second"


def test_studies_of_one_name_are_told_apart_by_their_number(owner: User) -> None:
    studies = [lab.launched(owner, "Same"), lab.launched(owner, "Same", rounds=5)]
    names = {cell.source for cell in selected_cells(studies=studies, runs=[])}
    assert names == {f"Same (study {study.pk})" for study in studies}


def test_tags_pick_studies_and_archived_ones_only_where_named(owner: User) -> None:
    here, away, other = (lab.launched(owner, name) for name in ("Here", "Away", "Other"))
    for study, tags in ((here, ["paper"]), (away, ["paper"]), (other, ["else"])):
        study.tags = tags
        study.archived = datetime(2026, 3, 1, tzinfo=UTC) if study == away else None
        study.save()
    assert selected_studies(studies=[], tags=["paper"]) == [here]
    assert selected_studies(studies=[away.pk], tags=["else"]) == [away, other]
    assert tags_in_use() == ["else", "paper"]
