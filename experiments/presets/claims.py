"""Sentences of a study as tests: over matching seeds, one-sided, with a p value. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from experiments.presets.comparison import NOT_DONE, CellFinder, MeasuredCell
from experiments.presets.preset import Claim, CurveReading, Preset
from experiments.presets.readings import read_sample
from experiments.statistics.intervals import one_sided_p
from experiments.statistics.over_seeds import Sample, mean_and_std

ALPHA = 0.05
LEAST_PAIRS = 2
TOO_FEW = "A test needs two matching seeds at least."
TOO_FEW_SETTINGS = "Too few settings have two seeds on both sides."
Outcome = Literal["holds", "opposite", "not shown", "not tested"]


@dataclass(frozen=True)
class ClaimResult:
    """`p` is that of the claim being no better than chance; of several comparisons that all must hold, the largest.

    `n` counts seeds, of the comparison that has fewest, or settings where spreads are compared. `smallest` is the
    smallest difference of all comparisons, in the unit of the reading.
    """

    claim: Claim
    outcome: Outcome
    p: float | None = None
    n: int = 0
    comparisons: int = 0
    smallest: float | None = None
    reason: str = ""


def claim_results(preset: Preset, finder: CellFinder) -> list[ClaimResult]:
    return [
        spread_result(claim, finder) if claim.compare == "spread" else value_result(claim, finder)
        for claim in preset.claims
    ]


def value_result(claim: Claim, finder: CellFinder) -> ClaimResult:
    """Every one of `lower` must be below, in every setting: the claim is as sure as its weakest part."""
    tested: list[tuple[float, float, int]] = []
    for where in claim.where:
        for rival in claim.lower:
            first, second = (find_cell(finder, where, side) for side in (claim.higher, rival))
            if first is None or second is None:
                return ClaimResult(claim, "not tested", reason=missing_reason(finder, where, claim, rival))
            differences = seed_differences(claim, first, second)
            if len(differences) < LEAST_PAIRS:
                return ClaimResult(claim, "not tested", n=len(differences), reason=TOO_FEW)
            mean, std = mean_and_std(differences)
            tested.append((one_sided_p(mean or 0.0, std or 0.0, len(differences)), mean or 0.0, len(differences)))
    p = max(each[0] for each in tested)
    return ClaimResult(
        claim,
        outcome_of(p, 1 - p),
        p,
        min(each[2] for each in tested),
        len(tested),
        min(each[1] for each in tested),
    )


def outcome_of(p: float, opposite: float) -> Outcome:
    return "holds" if p < ALPHA else "opposite" if opposite < ALPHA else "not shown"


def missing_reason(finder: CellFinder, where: Mapping[str, Any], claim: Claim, rival: Mapping[str, Any]) -> str:
    sides = [merge_matches(where, side) for side in (claim.higher, rival)]
    absent = next((side for side in sides if not finder.matching(side)), None)
    return NOT_DONE if absent is None else finder.missing_reason(absent)


def seed_differences(claim: Claim, first: MeasuredCell, second: MeasuredCell) -> list[float]:
    own, other = (claim_sample(claim, cell) for cell in (first, second))
    return [own.seeds[seed] - other.seeds[seed] for seed in own.seeds if seed in other.seeds]


def spread_result(claim: Claim, finder: CellFinder) -> ClaimResult:
    """In how many settings `higher` spreads wider over its seeds: the sign test, one-sided and exact."""
    wider: list[float] = []
    for where in claim.where:
        for rival in claim.lower:
            first, second = (find_cell(finder, where, side) for side in (claim.higher, rival))
            own, other = (claim_sample(claim, cell).std if cell else None for cell in (first, second))
            if own is not None and other is not None:
                wider.append(own - other)
    if len(wider) < LEAST_PAIRS:
        return ClaimResult(claim, "not tested", n=len(wider), reason=TOO_FEW_SETTINGS)
    wins, losses = (sum(sign * each > 0 for each in wider) for sign in (1, -1))
    p, opposite = sign_p(wins, wins + losses), sign_p(losses, wins + losses)
    return ClaimResult(claim, outcome_of(p, opposite), p, len(wider), len(wider), min(wider))


def sign_p(wins: int, of: int) -> float:
    """The probability of at least so many wins by chance."""
    return sum(math.comb(of, count) for count in range(wins, of + 1)) / 2.0**of


def claim_sample(claim: Claim, cell: MeasuredCell) -> Sample:
    assert isinstance(claim.reading, CurveReading)
    return read_sample(claim.reading, cell.seeds)


def find_cell(finder: CellFinder, where: Mapping[str, Any], side: Mapping[str, Any]) -> MeasuredCell | None:
    cell = finder.best_match(merge_matches(where, side))
    return cell if cell and cell.measured_seeds else None


def merge_matches(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    for key, value in second.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge_matches(old, value) if both else value  # type: ignore[arg-type]
    return merged
