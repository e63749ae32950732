from __future__ import annotations

from experiments.compare.charts.values import (
    ValueChoice,
    compared_axis,
    rival_groups,
    sample_text,
    standings,
    value_label,
)
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample

AXES = {
    "strategy": {"a": "fedavg", "b": "fedprox", "c": "fedavg", "d": "fedprox"},
    "clients": {"a": "clients 5", "b": "clients 5", "c": "clients 9", "d": "clients 9"},
}


def seeds(*values: float) -> Sample:
    return Sample(dict(enumerate(values)))


def test_only_cells_that_agree_in_everything_else_are_rivals() -> None:
    assert rival_groups("abcd", AXES, "strategy") == [["a", "b"], ["c", "d"]]
    assert rival_groups("abcd", AXES, "clients") == [["a", "c"], ["b", "d"]]


def test_the_best_of_each_group_is_marked_whichever_way_is_better() -> None:
    samples = {"a": seeds(1.0, 1.1), "b": seeds(2.0, 2.1), "c": seeds(8.0, 8.1), "d": seeds(4.0, 4.1)}
    groups = rival_groups("abcd", AXES, "strategy")
    assert standings(samples, groups, higher=True) == {"b": "best", "c": "best"}
    assert standings(samples, groups, higher=False) == {"a": "best", "d": "best"}


def test_a_tie_is_a_paired_difference_whose_interval_includes_zero() -> None:
    # Differences 0.1, -0.05, 0.1: mean 0.05, std 0.0866, half interval 4.303 * 0.05 = 0.215.
    samples = {"a": seeds(1.0, 2.0, 3.0), "b": seeds(0.9, 2.05, 2.9)}
    assert standings(samples, [["a", "b"]], higher=True) == {"a": "best", "b": "tie"}


def test_one_common_seed_cannot_tell_a_tie() -> None:
    samples = {"a": Sample({0: 1.0, 1: 3.0}), "b": Sample({1: 2.9})}
    assert standings(samples, [["a", "b"]], higher=False) == {"a": "best"}


def test_nobody_is_best_alone_and_cells_without_values_do_not_count() -> None:
    assert standings({"a": seeds(1.0)}, [["a", "b"]], higher=True) == {}
    assert standings({"a": seeds(1.0), "b": Sample({}, missing=frozenset({0}))}, [["a", "b"]], higher=True) == {}


def test_a_cell_that_lost_seeds_is_never_best_by_what_is_left() -> None:
    steady, left = seeds(2.0, 2.1, 2.0, 2.1, 2.0), Sample({3: 9.0, 4: 9.1}, frozenset({0, 1, 2}))
    assert standings({"a": left, "b": steady}, [["a", "b"]], higher=True) == {"b": "best"}
    assert standings({"a": left, "b": steady}, [["a", "b"]], higher=False) == {"b": "best"}
    missing = Sample({3: 9.0, 4: 9.1}, missing=frozenset({0, 1, 2}))
    assert standings({"a": missing, "b": steady}, [["a", "b"]], higher=True) == {"b": "best"}


def test_nobody_is_best_where_a_cell_that_lost_seeds_could_be_it() -> None:
    """Of 9, 9, 9, 9 and a lost one the median is 9: more than the other has, and yet not to be called better."""
    one_lost = Sample({0: 9.0, 1: 9.0, 2: 9.0, 3: 9.0}, frozenset({4}))
    assert standings({"a": one_lost, "b": seeds(2.0, 2.0, 2.0, 2.0, 2.0)}, [["a", "b"]], higher=True) == {}
    assert standings({"a": one_lost, "b": Sample({}, frozenset({0, 1}))}, [["a", "b"]], higher=True) == {}


def test_equal_means_are_best_together() -> None:
    standing_by_cell = standings({"a": seeds(2.0), "b": seeds(2.0), "c": seeds(3.0)}, [["a", "b", "c"]], higher=False)
    assert standing_by_cell == {"a": "best", "b": "best"}


def test_values_are_named_by_what_they_stand_for() -> None:
    accuracy = metric_label("accuracy")
    assert value_label(accuracy, ValueChoice()).axis == "Test accuracy at the last round, %"
    assert value_label(accuracy, ValueChoice("at", at=(5, 10))).axis == "Test accuracy at rounds 5, 10, %"
    assert value_label(accuracy, ValueChoice("last", last=7)).axis == "Test accuracy over the last 7 rounds, %"
    assert value_label(accuracy, ValueChoice("best")).axis == "Test accuracy at its best, %"
    rounds = value_label(accuracy, ValueChoice("rounds", target=90.0))
    assert (rounds.axis, rounds.higher_is_better) == ("Rounds to 90 % test accuracy", False)
    assert value_label(accuracy, ValueChoice("bytes", target=90.0)).format(2_500_000) == "2.50"


def test_numbers_are_shown_with_their_spread_where_there_is_one() -> None:
    label = metric_label("accuracy")
    assert sample_text(seeds(0.9, 1.0), label) == "95.00 ± 7.07"
    assert sample_text(seeds(0.9), label) == "90.00"
    assert sample_text(None, label) == "–"
    assert sample_text(Sample({}, frozenset({0})), label) == "–"


def test_what_competes_is_chosen_or_the_strategy_or_whatever_varies() -> None:
    assert compared_axis(AXES) == "strategy"
    assert compared_axis(AXES, "clients") == "clients"
    assert compared_axis({"clients": {}}, "nonsense") == "clients"
    assert compared_axis({}) == ""
