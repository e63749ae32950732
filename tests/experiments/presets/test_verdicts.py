from __future__ import annotations

from typing import Any

import pytest

from experiments.presets.comparison import CellFinder, compare_with_published
from experiments.presets.preset import Preset, Reason
from experiments.presets.verdicts import VerdictCounts, count_verdicts, judge_row
from tests.experiments.presets.test_comparison import SPEC, cell, number, preset, rows


def with_reasons(one_preset: Preset, *reasons: dict[str, Any]) -> Preset:
    return one_preset.model_copy(update={"reasons": [Reason.model_validate(each) for each in reasons]})


@pytest.mark.parametrize(
    ("value", "std", "verdict"),
    [
        (90.9, None, "agrees"),
        (91.1, None, "differs"),
        (91.1, 0.4, "differs"),  # a point is more than two deviations
        (91.1, 0.6, "agrees"),
        (91.3, 0.6, "differs"),
    ],
)
def test_a_number_agrees_within_a_point_or_two_published_deviations(
    value: float, std: float | None, verdict: str
) -> None:
    one = preset(number(value, std=std))
    (row,) = rows(one, cell(0.89, 0.90, 0.91))
    assert judge_row(one, row).verdict == verdict


def test_two_seeds_are_too_few_for_a_verdict() -> None:
    one = preset(number(90.0))
    (row,) = rows(one, cell(0.90, 0.90))
    assert judge_row(one, row).why == "Only 2 seeds: 3 at least are needed."


def test_what_was_not_measured_is_not_compared_and_says_why() -> None:
    one = preset(number(90.0))
    (row,) = rows(one, absent="MNIST is not here.")
    assert (judge_row(one, row).verdict, judge_row(one, row).why) == ("not compared", "MNIST is not here.")


def test_a_difference_has_the_first_reason_that_fits() -> None:
    one = with_reasons(
        preset(number(80.0), number(80.0, reading={"take": "max"})),
        {"match": {"strategy": {"name": "fedprox"}}, "why": "Another strategy."},
        {"take": ["max"], "why": "Only of the best."},
        {"match": {"strategy": {"name": "fedavg"}}, "why": "The defect."},
    )
    measured = rows(one, cell(0.9, 0.9, 0.9))
    assert [judge_row(one, row).why for row in measured] == ["The defect.", "Only of the best."]
    bare = preset(number(80.0))
    assert judge_row(bare, rows(bare, cell(0.9, 0.9, 0.9))[0]).why == "The reason is not known."


def test_fitted_numbers_are_counted_apart_and_repeated_ones_not_at_all() -> None:
    one = preset(
        number(90.0),
        number(80.0),
        number(90.0, match={"strategy": {"name": "fedprox"}}),
        number(90.0, fitted=True),
        number(80.0, fitted=True),
        number(90.0, repeated=True),
    )
    counts = count_verdicts(one, rows(one, cell(0.9, 0.9, 0.9)))
    assert counts == VerdictCounts(agree=1, differ=1, not_compared=1, fitted_agree=1, fitted=2)
    assert counts.text == ("1 of 3 agree, 1 differ, 1 not compared, and 1 of 2 that settings were fitted to")


def test_a_number_of_whole_curves_is_not_judged_by_shorter_runs() -> None:
    """The full scale has 50 rounds. What a round is, more of them do not change."""
    readings = [{"take": "final"}, {"take": "max"}, {"take": "argmax"}, {"take": "at", "round": 1}]
    one = preset(*(number(90.0, reading=reading, unit="percent") for reading in readings))
    reference = {**SPEC, "rounds": 50}

    def judged(rounds: int) -> list[str]:
        finder = CellFinder([cell(0.9, 0.9, 0.9, rounds=rounds)], [reference], lambda match: None)
        judgements = [judge_row(one, row) for row in compare_with_published(one, finder)]
        return [each.why or each.verdict for each in judgements]

    assert judged(20) == ["The runs have 20 of the published 50 rounds."] * 3 + ["agrees"]
    assert judged(50)[:2] == ["agrees", "agrees"]
    assert judged(60)[3] == "agrees"
