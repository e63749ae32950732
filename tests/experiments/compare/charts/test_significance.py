"""Whether one method is better, on a lab of hand-made seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import plotly.graph_objects as go
import pytest
from scipy import stats

from experiments.compare.charts.significance import (
    SignificanceInfo,
    forest_description,
    forest_figure,
    forest_notes,
    friedman_words,
    level_difference,
    p_text,
    pair_words,
    signed_text,
    significance_info,
    significance_table,
)
from experiments.labels.metrics import metric_label
from experiments.statistics.intervals import Difference, SeedWins
from experiments.statistics.over_seeds import Sample
from experiments.statistics.rank_tests import SignedRanks

ACCURACY, LOSS = metric_label("accuracy"), metric_label("loss")


def compared(table: Mapping[str, Mapping[str, list[float]]], label: object = LOSS) -> SignificanceInfo:
    """`table` has, by setting and method, a value for each seed."""
    axes: dict[str, dict[str, str]] = {"strategy": {}, "clients": {}}
    samples = {}
    for setting, row in table.items():
        for method, values in row.items():
            cell = f"{method}/{setting}"
            axes["strategy"][cell], axes["clients"][cell] = method, setting
            samples[cell] = Sample(dict(enumerate(values)))
    return significance_info(list(samples), axes, samples, label, "strategy")  # type: ignore[arg-type]


def test_within_a_setting_matching_seeds_are_compared() -> None:
    info = compared({"5": {"a": [3.0, 4.0, 6.0], "b": [2.0, 3.0, 4.0]}})
    # Differences 1, 1, 2: mean 4/3, std sqrt(1/3), half interval 4.302653 / 3.
    (pair,) = info.pairs
    half = 4.30265272975 / 3
    assert pair.settings[0].difference == Difference(
        pytest.approx(4 / 3), 3, pytest.approx(4 / 3 - half), pytest.approx(4 / 3 + half)
    )
    assert (pair.wins, pair.ties, pair.losses) == (0, 1, 0)
    assert pair_words(pair, 1) == "No difference can be shown with 3 seeds."


def test_lower_is_better_where_it_is() -> None:
    table = {"5": {"a": [3.0, 3.1, 3.0], "b": [2.0, 2.0, 2.1]}}
    assert pair_words(compared(table).pairs[0], 1) == "b is better (3 seeds)."
    assert pair_words(compared(table, ACCURACY).pairs[0], 1) == "a is better (3 seeds)."


def test_it_says_plainly_when_there_are_too_few_seeds() -> None:
    assert pair_words(compared({"5": {"a": [3.0], "b": [2.0]}}).pairs[0], 1) == (
        "One common seed is too few to tell: launch both with at least two, better five."
    )


def test_it_says_plainly_when_there_are_too_few_settings() -> None:
    five = compared({str(n): {"a": [1.0 + n, 1.1 + n], "b": [0.5, 0.6]} for n in range(5)})
    (pair,) = five.pairs
    assert pair.ranks is not None
    assert pair.ranks.p == 0.0625
    assert pair_words(pair, 1) == "Too few settings to tell over all: they differ in 5, and at least 6 are needed."
    assert pair_words(pair, 3).endswith("they differ in 5, and with 3 comparisons at least 7 are needed.")


def test_shown_is_what_the_corrected_test_says_or_every_setting_over_three_seeds() -> None:
    two = compared({"5": {"a": [3.0, 3.1], "b": [1.0, 1.1]}})
    three = compared({"5": {"a": [3.0, 3.1, 3.0], "b": [1.0, 1.1, 1.1]}})
    split = compared({"5": {"a": [3.0, 3.1, 3.0], "b": [1.0, 1.1, 1.1]}, "9": {"a": [1.0] * 3, "b": [1.0] * 3}})
    # The loss of a is higher: b is shown to be better where three seeds say so, everywhere.
    assert [info.pairs[0].better_shown for info in (two, three, split)] == [0, -1, 0]
    assert two.pairs[0].losses == 1
    table = {str(n): {"a": [n + 1.0, n + 1.5], "b": [n + 0.5, n + 0.5 - n / 10]} for n in range(8)}
    assert compared(table, ACCURACY).pairs[0].better_shown == 1
    assert [compared(table).pairs[0].better_shown, compared(table).pairs[0].common_seeds] == [-1, [2] * 8]


def test_more_methods_than_a_matrix_holds_are_named() -> None:
    info = compared({"5": {letter: [1.0, 2.0] for letter in "abcdefghijklmn"}})
    assert (len(info.methods), info.left_out) == (12, ("m", "n"))


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert [signed_text(value, ACCURACY) for value in (0.42, -0.42, -0.0004, 0.0004)] == [
        *("+0.42", "-0.42", "0.00", "0.00")
    ]


def test_over_many_settings_it_tests_cell_means_and_never_pools_seeds() -> None:
    table = {str(n): {"a": [n + 1.0, n + 1.5], "b": [n + 0.5, n + 0.5 - n / 10]} for n in range(8)}
    info = compared(table, ACCURACY)
    (pair,) = info.pairs
    means = [1.25 + n - (n + 0.5 - n / 20) for n in range(8)]
    expected = stats.wilcoxon(means)
    assert pair.ranks is not None
    assert (pair.ranks.n, pair.ranks.p) == (8, pytest.approx(expected.pvalue))
    assert pair.mean == pytest.approx(100 * sum(means) / 8)
    assert pair_words(pair, 1) == "a is better over all settings (p = 0.008 after Holm)."


def test_all_pairs_are_corrected_together() -> None:
    table = {str(n): {"a": [n + 3.0], "b": [n + 2.0 + n / 100], "c": [n + 2.0 + (-1) ** n / 10]} for n in range(8)}
    info = compared(table, ACCURACY)
    raw = [pair.ranks.p for pair in info.pairs if pair.ranks]
    assert [(pair.first, pair.second) for pair in info.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert raw[:2] == [0.0078125, 0.0078125]
    assert [pair.corrected for pair in info.pairs][:2] == [0.0234375, 0.0234375]
    assert friedman_words(info).startswith("Friedman: the 3 differ over 8 settings (p = ")
    assert friedman_words(info).endswith("Mean ranks: a 1.00, b 2.50, c 2.50.")


def test_friedman_takes_only_settings_in_which_everyone_was_measured() -> None:
    table = {
        "5": {"a": [1.0], "b": [2.0], "c": [3.0]},
        "9": {"a": [1.0], "b": [2.0]},
        "12": {"a": [1.0], "b": [2.5], "c": [4.0]},
    }
    test = compared(table).friedman
    assert test is not None
    assert (test.settings, test.mean_ranks) == (2, (1.0, 2.0, 3.0))
    assert "three methods or more" in friedman_words(compared({"5": {"a": [1.0], "b": [2.0]}}))
    assert "two settings or more" in friedman_words(compared({"5": {"a": [1.0], "b": [2.0], "c": [3.0]}}))


def test_friedman_says_when_no_difference_can_be_shown() -> None:
    """Ranks 1, 2, 3 in one setting and 3, 2, 1 in the other: all have the same mean rank."""
    info = compared({"5": {"a": [1.0], "b": [2.0], "c": [3.0]}, "9": {"a": [3.0], "b": [2.0], "c": [1.0]}})
    assert friedman_words(info) == "Friedman: over 2 settings no difference among the 3 can be shown (p = 1.000)."


def test_the_matrix_reads_from_both_sides() -> None:
    info = compared({"5": {"a": [3.0, 3.1], "b": [2.0, 2.1]}, "9": {"a": [1.0], "b": [2.0]}})
    assert info.between("a", "b") == (0, 0, 1)
    assert info.between("b", "a") == (1, 0, 0)
    assert info.between("a", "a") is None
    assert info.pairs[0].unknown == 1


def test_methods_that_share_no_setting_or_seed_are_told_so() -> None:
    apart = compared({"5": {"a": [1.0, 2.0]}, "9": {"b": [1.0, 2.0]}})
    assert pair_words(apart.pairs[0], 1) == "They share no setting."
    assert apart.between("a", "b") is None
    assert significance_info([], {}, {}, LOSS, "").pairs == ()


def lost(values: Mapping[int, float], diverged: Iterable[int] = (), missing: Iterable[int] = ()) -> Sample:
    return Sample(dict(values), frozenset(diverged), frozenset(missing))


def compared_samples(table: Mapping[str, Mapping[str, Sample]], label: object = LOSS) -> SignificanceInfo:
    axes: dict[str, dict[str, str]] = {"strategy": {}, "clients": {}}
    samples = {}
    for setting, row in table.items():
        for method, sample in row.items():
            cell = f"{method}/{setting}"
            axes["strategy"][cell], axes["clients"][cell] = method, setting
            samples[cell] = sample
    return significance_info(list(samples), axes, samples, label, "strategy")  # type: ignore[arg-type]


FIVE = dict.fromkeys(range(5), 2.0)


def test_two_survivors_of_five_are_not_better_than_five() -> None:
    info = compared_samples({"5": {"a": lost({3: 1.0, 4: 1.1}, diverged=[0, 1, 2]), "b": Sample(FIVE)}})
    (pair,) = info.pairs
    (setting,) = pair.settings
    assert setting.difference is None
    assert setting.wins == SeedWins(better=(2, 3), diverged=(3, 0), missing=(0, 0), n=5)
    assert (pair.wins, pair.ties, pair.losses, pair.unknown, pair.undecided, pair.mean) == (0, 0, 0, 0, 1, None)
    assert pair_words(pair, 1) == (
        "It cannot be told which is better. b does better in 3 of 5 seeds, a in 2: a diverged in 3. "
        "Means of the seeds that are left are not compared."
    )
    assert forest_figure(pair, LOSS)["data"] == []
    assert forest_notes(pair).endswith("5: a better in 2, b in 3 of 5 seeds (a diverged in 3)")


def test_a_cell_in_which_every_seed_is_lost_loses_every_seed() -> None:
    """Five of five pass no sign test (p = 2 / 32); eight of eight do (p = 2 / 256)."""
    five = compared_samples({"5": {"a": lost({}, [0, 1, 2, 3, 4]), "b": Sample(FIVE)}}).pairs[0]
    assert pair_words(five, 1).startswith(
        "It cannot be told which is better. b does better in 5 of 5 seeds: a diverged in 5."
    )
    eight = dict.fromkeys(range(8), 2.0)
    rest = dict.fromkeys(range(4), 3.0)
    pair = compared_samples({"5": {"a": lost(rest, [4, 5, 6], [7]), "b": Sample(eight)}}).pairs[0]
    assert (pair.wins, pair.losses) == (0, 1)
    assert pair_words(pair, 1) == (
        "b is better. b does better in 8 of 8 seeds: a diverged in 3 and a has no value in 1. "
        "A lost seed counts as the worst (sign test, p = 0.008)."
    )


def test_where_both_lost_a_seed_it_counts_for_neither() -> None:
    pair = compared_samples({"5": {"a": lost({1: 1.0}, [0]), "b": lost({1: 2.0}, missing=[0])}}).pairs[0]
    assert pair.settings[0].wins == SeedWins(better=(1, 0), diverged=(1, 0), missing=(0, 1), n=2)


def test_a_lost_seed_that_the_other_never_had_is_told_and_does_not_stand_in_the_way() -> None:
    pair = compared_samples({"5": {"a": lost({0: 1.0, 1: 1.1}, [9]), "b": Sample({0: 3.0, 1: 3.1})}}).pairs[0]
    assert pair_words(pair, 1) == "a is better (2 seeds). Lost seeds: a: 1 diverged of 3."


def test_over_settings_a_cell_that_lost_most_of_its_seeds_is_the_worst() -> None:
    """In each of six settings a is ahead in the one seed that is left, and has a median of infinity: p = 2 / 64."""
    row = {"a": lost({2: 1.0}, [0, 1]), "b": Sample({0: 2.0, 1: 2.0, 2: 2.0})}
    (pair,) = compared_samples({str(n): row for n in range(6)}).pairs
    assert pair.ranks == SignedRanks(6, 0.0, 0.03125, positive=True)
    assert pair_words(pair, 1) == (
        "b is better over all settings (p = 0.031 after Holm, a lost seed counting as the worst). "
        "Lost seeds: a: 12 diverged of 18."
    )


def test_over_settings_one_lost_seed_of_five_makes_the_median_count() -> None:
    """Of 1, 1, 1, 4 and a lost one the median is 1; the mean of the four that are left would be 1.75."""
    one = {"a": lost({0: 1.0, 1: 1.0, 2: 1.0, 3: 4.0}, [4]), "b": Sample(FIVE)}
    (pair,) = compared_samples({"5": one, "9": {"a": Sample({0: 1.0}), "b": Sample({0: 4.0})}}).pairs
    assert [level_difference(each, LOSS) for each in pair.settings] == [1.0 - 2.0, 1.0 - 4.0]


def test_friedman_ranks_a_cell_that_lost_most_of_its_seeds_last() -> None:
    """c's one seed that is left is the best of all."""
    seeds = {0: 1.0, 1: 1.0, 2: 1.0}
    row = {"a": Sample(seeds), "b": Sample(dict.fromkeys(seeds, 2.0)), "c": lost({2: 0.1}, [0, 1])}
    info = compared_samples({"5": row, "9": row})
    assert info.friedman is not None
    assert info.friedman.mean_ranks == (1.0, 2.0, 3.0)
    assert "a lost seed counting as the worst" in friedman_words(info)


def test_the_winner_is_whom_the_ranks_favour_and_not_one_large_difference() -> None:
    """Eleven settings favour a by 1 to 11, one favours b by 1000: ranks 66 and 12, p = 0.034."""
    table = {str(n): {"a": [0.0], "b": [float(n)]} for n in range(1, 12)} | {"12": {"a": [1000.0], "b": [0.0]}}
    (pair,) = compared(table).pairs
    assert pair.mean is not None
    assert pair.mean > 0
    assert pair_words(pair, 1) == "a is better over all settings (p = 0.034 after Holm)."


def test_its_numbers_as_a_table() -> None:
    table = significance_table(compared({"5": {"a": [3.0, 4.0], "b": [2.0, 3.0]}, "9": {"a": [1.0], "b": [math.pi]}}))
    assert table.rows[0] == ("a", "b", "5", 3.5, 2.5, 1.0, 1.0, 1.0, 2, "more", None, None, 0, 0, 0, 0)
    assert table.rows[1][5:10] == (pytest.approx(1 - math.pi), None, None, 1, "unknown")


def test_the_forest_has_a_row_per_setting_and_zero_to_cross() -> None:
    info = compared({"5": {"a": [0.9, 0.95], "b": [0.5, 0.55]}, "9": {"a": [0.5, 0.6], "b": [0.55, 0.5]}}, ACCURACY)
    (pair,) = info.pairs
    figure = forest_figure(pair, ACCURACY)
    assert [trace["y"] for trace in figure["data"]] == [["9"], ["5"]]
    assert [trace["meta"]["hue"] for trace in figure["data"]] == [7, 3]
    assert figure["layout"]["xaxis"]["title"]["text"] == "a minus b, points"
    assert (figure["layout"]["shapes"][0]["x0"], figure["layout"]["shapes"][0]["x1"]) == (0, 0)
    assert len(go.Figure(figure).data) == 2
    assert forest_notes(pair).startswith("a better in 1, worse in 0, tie in 1 settings · bars: 95 % interval")
    assert forest_description(pair, ACCURACY).startswith(
        "Test accuracy, %: a minus b. 5: +40.00 ± 0.00 (n=2), better; 9:"
    )


def test_on_a_narrow_screen_the_forest_has_names_above_its_rows() -> None:
    info = compared({"5": {"a": [0.9, 0.95], "b": [0.5, 0.55]}, "9": {"a": [0.5, 0.6], "b": [0.55, 0.5]}}, ACCURACY)
    layout = forest_figure(info.pairs[0], ACCURACY, narrow=True)["layout"]
    assert [(each["text"], each["x"], each["y"]) for each in layout["annotations"]] == [("9", 0, "9"), ("5", 0, "5")]
    assert layout["yaxis"]["showticklabels"] is False
    assert layout["xaxis"]["title"]["text"] == "Difference, points"


def test_p_values_are_short() -> None:
    assert [p_text(p) for p in (0.0001, 0.0312, 1.0)] == ["p < 0.001", "p = 0.031", "p = 1.000"]
