from __future__ import annotations

from typing import Any

import pytest

from experiments.presets.claims import ClaimResult, claim_results, merge_matches
from experiments.presets.comparison import CellFinder, MeasuredCell
from experiments.presets.preset import Claim
from tests.experiments.presets.test_comparison import cell, preset


def result(*cells: MeasuredCell, **changes: Any) -> ClaimResult:
    fields = {
        "text": "FedLoss leads.",
        "where": [{"dataset": {"name": "mnist"}}],
        "higher": {"strategy": {"name": "fedloss"}},
        "lower": [{"strategy": {"name": "fedavg"}}],
        "reading": {"take": "final"},
        **changes,
    }
    one = preset().model_copy(update={"claims": [Claim.model_validate(fields)]})
    (only,) = claim_results(one, CellFinder(cells, [], lambda match: None))
    return only


def of(name: str, *ends: float, **changes: Any) -> MeasuredCell:
    return cell(*ends, strategy={"name": name}, **changes)


def test_a_claim_is_tested_over_matching_seeds() -> None:
    """Differences 0.01, 0.02 and 0.03: mean 0.02, sd 0.01, t = 3.4641 with 2 degrees: one-sided p = 0.03709."""
    answer = result(of("fedloss", 0.51, 0.62, 0.43), of("fedavg", 0.50, 0.60, 0.40))
    assert (answer.outcome, answer.n, answer.comparisons) == ("holds", 3, 1)
    assert answer.p == pytest.approx(0.03709, abs=1e-5)
    assert answer.smallest == pytest.approx(0.02)


def test_the_opposite_and_what_is_not_shown_are_told_apart() -> None:
    assert result(of("fedloss", 0.50, 0.60, 0.40), of("fedavg", 0.51, 0.62, 0.43)).outcome == "opposite"
    assert result(of("fedloss", 0.50, 0.63, 0.40), of("fedavg", 0.51, 0.60, 0.41)).outcome == "not shown"


def test_against_several_rivals_the_weakest_lead_counts() -> None:
    rivals = [{"strategy": {"name": name}} for name in ("fedavg", "fedmedian")]
    near = of("fedmedian", 0.50, 0.63, 0.44)
    answer = result(of("fedloss", 0.51, 0.62, 0.43), of("fedavg", 0.50, 0.60, 0.40), near, lower=rivals)
    assert (answer.outcome, answer.comparisons) == ("not shown", 2)
    assert answer.smallest == pytest.approx(-0.01 / 3)


def test_nothing_is_tested_without_cells_or_with_one_seed() -> None:
    assert result(of("fedloss", 0.5, 0.6)).reason == "This study has no such cell."
    assert result(of("fedloss", 0.5), of("fedavg", 0.4)).reason == "A test needs two matching seeds at least."


def test_spreads_are_compared_over_settings_by_their_signs() -> None:
    """Wider in all five settings: by chance one time in 32."""
    ratios = [number / 10 for number in range(1, 6)]
    cells = [of("fedloss", 0.4, 0.6, hybrid={"ratio": ratio}) for ratio in ratios]
    cells += [of("fedavg", 0.49, 0.5, hybrid={"ratio": ratio}) for ratio in ratios]
    where = [{"hybrid": {"ratio": ratio}} for ratio in ratios]
    answer = result(*cells, where=where, compare="spread")
    assert (answer.outcome, answer.p, answer.n) == ("holds", 1 / 32, 5)


def test_matches_are_merged_at_every_depth() -> None:
    first = {"local": {"batch_size": 32}, "hybrid": {"ratio": 0.1}}
    assert merge_matches(first, {"hybrid": {"method": "unify"}}) == {
        "local": {"batch_size": 32},
        "hybrid": {"ratio": 0.1, "method": "unify"},
    }
