"""The best cell of every strategy, only among what is comparable; what is left out says why."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from experiments.leaderboard.charts import SpreadMark, spread_marks
from experiments.leaderboard.conditions import conditions_of, partition_key, version_text
from experiments.leaderboard.selectors import leaderboard
from experiments.logged_runs.services import LoggedRound
from experiments.models import RunState, Study, User
from experiments.result_imports.services import SourceRun, results_import
from experiments.results.services.curves import values_write
from experiments.statistics.over_seeds import SeedStatistics
from experiments.studies.services.changes import study_archive
from tests.experiments import lab
from workers.spec import parse_run

SPEC: dict[str, Any] = {"dataset": {"name": "digits"}, "model": {"name": "mlp-50"}, "strategy": {"name": "fedavg"}}


def finished(owner: User, name: str, level: Callable[[dict[str, Any]], float], **changes: Any) -> Study:
    """Each run ends at its level, and each seed a hundredth higher."""
    made = lab.launched(owner, name, **changes)
    for run in lab.runs_in_order(made):
        if run.state != RunState.DONE:
            last = level(run.spec) + run.seed / 100
            lab.record(run, {"accuracy": [0.1, 0.2, last], "loss": [2.0, 1.0, 1 - last]})
    return made


@pytest.fixture
def two(owner: User, stranger: User) -> list[Study]:
    """FedAvg with two learning rates, and FedProx, each in a study of its own person."""
    rates = {"optimizer": {"name": "sgd", "lr": [0.01, 0.1]}}
    return [
        finished(owner, "Rates", by_rate, strategy={"name": "fedavg"}, local=rates),
        finished(stranger, "Proximal", lambda spec: 0.8, strategy={"name": "fedprox", "mu": 0.1}),
    ]


def by_rate(spec: dict[str, Any]) -> float:
    return 0.6 + float(spec["local"]["optimizer"]["lr"])


def test_it_ranks_the_best_cell_of_every_strategy_over_all_studies(two: list[Study]) -> None:
    board = leaderboard(dataset="digits")
    assert [(row.rank, row.strategy, row.cells, row.study, row.statistics.n) for row in board.rows] == [
        (1, "fedprox", 1, two[1], 3),
        (2, "fedavg", 2, two[0], 3),
    ]
    # Seeds at 0.70, 0.71 and 0.72 with the better rate.
    assert board.rows[1].statistics.mean == pytest.approx(0.71)
    assert board.rows[1].statistics.std == pytest.approx(0.01)
    assert "learning rate 0.1" in board.rows[1].settings
    assert board.left_out == []


def test_by_loss_the_lowest_is_best(two: list[Study]) -> None:
    board = leaderboard(dataset="digits", metric="loss")
    assert [(row.strategy, row.statistics.mean) for row in board.rows] == [
        ("fedprox", pytest.approx(0.19)),
        ("fedavg", pytest.approx(0.29)),
    ]


def test_a_run_that_two_studies_hold_counts_once(two: list[Study], owner: User) -> None:
    lab.launched(owner, "Once more", strategy={"name": "fedprox", "mu": 0.1})
    first = leaderboard().rows[0]
    assert (first.strategy, first.statistics.n, first.study) == ("fedprox", 3, two[1])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rounds": 3}, "3 rounds instead of 2 rounds"),
        ({"evaluation": {"on": "clients"}}, "on what all clients hold out (20% of each) instead of on the test set"),
        ({"clients": 4}, "4 clients, all in every round instead of 3 clients, all in every round"),
        ({"fraction": 0.5}, "3 clients, 50% a round instead of 3 clients, all in every round"),
        ({"hybrid": {"ratio": 0.5}}, "50% shared (share-disjoint) instead of none"),
        ({"stop": {"target_accuracy": 0.9}}, "2 rounds · ends at 90% accuracy instead of 2 rounds"),
    ],
)
def test_what_is_not_comparable_is_left_out_with_its_reason(
    two: list[Study], owner: User, changes: dict[str, Any], why: str
) -> None:
    finished(owner, "Elsewhere", lambda spec: 0.9, strategy={"name": "scaffold"}, **changes)
    board = leaderboard(dataset="digits")
    assert [row.strategy for row in board.rows] == ["fedprox", "fedavg"]
    (left_out,) = board.left_out
    assert (left_out.reasons, left_out.strategies, left_out.cells) == ((why,), 1, 1)
    assert [row.strategy for row in leaderboard(dataset="digits", key=left_out.key).rows] == ["scaffold"]


def test_a_partition_is_chosen_by_its_name_or_with_its_parameters(two: list[Study], owner: User) -> None:
    alphas = {"name": "label-dirichlet", "alpha": [0.1, 0.3], "min_size": 1}
    finished(owner, "Skew", lambda spec: spec["partition"]["alpha"], strategy={"name": "fedavg"}, partition=alphas)
    assert len(leaderboard(dataset="digits", partition="iid").rows) == 2
    (row,) = leaderboard(dataset="digits", partition="label-dirichlet,alpha=0.3,balanced=yes,min_size=1").rows
    assert row.statistics.mean == pytest.approx(0.31)
    board = leaderboard(dataset="digits", partition="label-dirichlet")
    assert [row.strategy for row in board.rows] == ["fedavg"]
    assert [each.cells for each in board.left_out] == [1]
    assert len(board.partitions) == 3


def test_fewer_than_three_seeds_are_shown_without_a_rank_and_one_without_a_spread(
    two: list[Study], owner: User
) -> None:
    finished(owner, "Lucky", lambda spec: 0.99, strategy={"name": "scaffold"}, seeds=1)
    rows = leaderboard(dataset="digits").rows
    assert [(row.rank, row.strategy, row.few, row.statistics.std is None) for row in rows] == [
        (None, "scaffold", True, True),
        (1, "fedprox", False, False),
        (2, "fedavg", False, False),
    ]


def test_conditions_under_which_strategies_have_ranks_come_before_those_with_more_of_them(
    two: list[Study], owner: User
) -> None:
    survey = [{"name": name} for name in ("fedavg", "fedadam", "fedyogi")]
    finished(owner, "Survey of single seeds", lambda spec: 0.9, strategy=survey, rounds=3, seeds=1)
    board = leaderboard(dataset="digits")
    assert [(row.rank, row.strategy) for row in board.rows] == [(1, "fedprox"), (2, "fedavg")]
    assert [each.strategies for each in board.left_out] == [3]


def test_a_checksum_is_told_by_its_first_letters_and_a_named_version_whole() -> None:
    assert version_text("0123456789abcdef0123") == "0123456789ab"
    assert version_text("sklearn-digits-1797") == "sklearn-digits-1797"


def test_equal_means_share_a_rank(two: list[Study], owner: User) -> None:
    finished(owner, "Equal", lambda spec: 0.8, strategy={"name": "scaffold"})
    board = leaderboard(dataset="digits")
    assert [(row.rank, row.strategy) for row in board.rows] == [(1, "fedprox"), (1, "scaffold"), (3, "fedavg")]


def test_partitions_are_in_the_order_of_their_numbers(owner: User) -> None:
    alphas = [{"name": "label-dirichlet", "alpha": alpha, "min_size": 1} for alpha in (0.5, 1, 0.1)]
    finished(owner, "Unsorted", lambda spec: 0.7, partition=[*alphas, {"name": "iid"}])
    assert list(leaderboard(dataset="digits").partitions.values()) == [
        "Dirichlet (α = 0.1, min size = 1)",
        "Dirichlet (α = 0.5, min size = 1)",
        "Dirichlet (α = 1, min size = 1)",
        "IID",
    ]


def test_a_lucky_seed_does_not_stand_for_a_strategy_that_has_a_cell_of_three(two: list[Study], owner: User) -> None:
    finished(owner, "Lucky", lambda spec: 0.99, strategy={"name": "fedprox", "mu": 0.5}, seeds=1)
    assert leaderboard(dataset="digits").rows[0].statistics.mean == pytest.approx(0.81)


def test_a_strategy_whose_best_cell_may_have_lost_a_seed_is_left_out(two: list[Study]) -> None:
    run = lab.runs_in_order(two[1])[0]
    values_write([(run.pk, 2, "accuracy", math.nan)])
    board = leaderboard(dataset="digits")
    assert [row.strategy for row in board.rows] == ["fedavg"]
    assert board.left_out[0].reasons[0].startswith("FedProx: a cell that may be its best lost a seed")


def test_archived_studies_and_runs_that_are_not_done_count_nothing(two: list[Study], owner: User) -> None:
    study_archive(study=two[1], actor=two[1].owner)
    lab.launched(owner, "Waits", strategy={"name": "scaffold"})
    board = leaderboard(dataset="digits")
    assert ([row.strategy for row in board.rows], board.archived) == (["fedavg"], 1)
    assert [(each.reasons, each.cells, each.key) for each in board.left_out] == [
        (("no run of them is done yet",), 1, "")
    ]


def test_other_data_of_the_same_name_is_not_the_same_task() -> None:
    spec = parse_run(SPEC).model_dump(mode="json")
    normalised = {**spec, "dataset": {**spec["dataset"], "normalise": "none"}}
    other_model = {**spec, "model": {"name": "logistic"}, "seed": 7}
    assert conditions_of(spec, "v1") == conditions_of(normalised, "v1") == conditions_of(other_model, "v1")
    assert conditions_of(spec, "v1").differing(conditions_of(spec, "v2")) == ["data"]
    assert conditions_of(spec, "v1").key != conditions_of(spec, "v2").key


def test_partitions_are_named_as_addresses_have_them() -> None:
    assert partition_key({"name": "iid"}) == "iid"
    assert (
        partition_key({"name": "label-dirichlet", "balanced": True, "alpha": 0.3})
        == "label-dirichlet,alpha=0.3,balanced=yes"
    )


def test_marks_lie_between_the_lowest_and_the_highest_end() -> None:
    wide = SeedStatistics("a", 2, 0.5, 0.25, None, None, 3, 0)
    one = SeedStatistics("b", 2, 0.5, None, None, None, 1, 0)
    # From 0.25 to 0.75 on 138 pixels, after a margin of 6.
    assert spread_marks([wide, one]) == [SpreadMark(6.0, 75.0, 144.0), SpreadMark(75.0, 75.0, 75.0)]
    assert spread_marks([one]) == [SpreadMark(75.0, 75.0, 75.0)]


def test_rest_answers_with_rows_conditions_and_what_is_left_out(two: list[Study], as_owner: Client) -> None:
    answer = as_owner.get("/api/v1/leaderboard?dataset=digits&metric=accuracy").json()
    first = answer["rows"][0]
    assert (first["rank"], first["strategy"], first["n"], first["owner"]) == (1, "fedprox", 3, "stranger")
    assert first["mean"] == pytest.approx(0.81)
    assert answer["comparable"]["rounds"] == "2 rounds"
    assert (answer["partition"], answer["higher_is_better"], answer["left_out"]) == ("iid", True, [])
    assert as_owner.get("/api/v1/leaderboard?dataset=nothing").json()["rows"] == []


def test_the_page_names_the_best_and_says_what_is_missing(as_owner: Client, two: list[Study], owner: User) -> None:
    finished(owner, "Longer", lambda spec: 0.9, strategy={"name": "scaffold"}, rounds=3)
    page = as_owner.get("/leaderboard?dataset=digits").content.decode()
    assert "81.00 ± 1.00" in page
    assert "3 rounds instead of 2 rounds" in page
    assert "Nothing to rank here yet" in as_owner.get("/leaderboard?dataset=mnist").content.decode()


def test_an_app_has_no_data_set_to_be_ranked_on(as_owner: Client, app_study: Study) -> None:
    assert leaderboard().rows == ()
    assert as_owner.get("/leaderboard").status_code == 200


@pytest.fixture
def scripts_study(owner: User) -> Study:
    """Two methods of one script with three seeds each, and a third one that was told fewer rounds."""
    task = {"dataset": "digits", "partition.name": "label-dirichlet", "partition.alpha": 0.3, "clients": 4}
    runs = [
        SourceRun("Ours", f"{method}-{seed}", {**task, "strategy": method, "lr": 0.1}, seed, rounds)
        for method, level, length in (("ours", 0.9, 2), ("fedavg", 0.7, 2), ("short", 0.95, 1))
        for seed in range(3)
        for rounds in ([LoggedRound(at, {"accuracy": level + seed / 100}) for at in range(1, length + 1)],)
    ]
    imported = results_import(owner=owner, kind="csv", source="", runs=runs)
    return Study.objects.get(pk=imported[0].holder)


def test_runs_of_scripts_that_say_their_task_are_ranked_among_each_other(scripts_study: Study) -> None:
    board = leaderboard(dataset="digits")
    assert [(row.rank, row.label, row.statistics.n, row.study) for row in board.rows] == [
        (1, "ours", 3, scripts_study),
        (2, "FedAvg", 3, scripts_study),
    ]
    assert board.rows[0].settings == "Ours · lr 0.1 · logged, not computed here"
    assert board.words == {
        "data": "Digits · logged, not computed here",
        "partition": "label-dirichlet · partition.alpha 0.3",
        "clients": "clients 4",
        "sharing": "none",
        "noise": "none",
        "faults": "none",
        "threats": "none",
        "evaluation": "not said",
        "rounds": "2 rounds",
    }
    assert (board.partition, dict(board.partitions)) == (
        "label-dirichlet,alpha=0.3",
        {"label-dirichlet,alpha=0.3": "label-dirichlet,alpha=0.3"},
    )
    assert [each.reasons for each in board.left_out] == [("1 round instead of 2 rounds",)]
    assert [row.label for row in leaderboard(dataset="digits", key=board.left_out[0].key).rows] == ["short"]


def test_runs_of_scripts_are_never_ranked_together_with_the_labs_own(two: list[Study], scripts_study: Study) -> None:
    board = leaderboard(dataset="digits")
    assert {row.study.pk for row in board.rows} == {study.pk for study in two}
    others = [each for each in board.left_out if "logged, not computed here" in each.reasons[0]]
    assert [(each.strategies, each.cells) for each in others] == [(2, 2), (1, 1)]
    ranked = leaderboard(dataset="digits", key=others[0].key)
    assert [row.label for row in ranked.rows] == ["ours", "FedAvg"]


def test_pages_find_the_runs_of_scripts_by_the_data_set_that_they_say(as_owner: Client, scripts_study: Study) -> None:
    page = as_owner.get("/leaderboard?dataset=digits").content.decode()
    assert "logged, not computed here" in page
    assert as_owner.get("/api/v1/leaderboard?dataset=digits").json()["rows"][0]["strategy"] == "ours"
    assert "Ours" in as_owner.get("/studies?dataset=digits").content.decode()
    assert "digits" in as_owner.get("/leaderboard").content.decode()


def test_a_script_that_says_no_data_set_is_in_no_leaderboard(owner: User) -> None:
    lab.imported(owner)
    assert leaderboard(dataset="digits").rows == ()
