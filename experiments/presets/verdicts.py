"""What each comparison comes to: agrees, differs, or cannot be compared; and how many of each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.presets.comparison import ComparisonRow, spec_matches
from experiments.presets.preset import Preset, Published, stored_verdicts

Verdict = Literal["agrees", "differs", "not compared"]
LEAST_SEEDS = 3
TOLERANCE = 1.0
"""A point, a round, a megabyte: whatever the number's unit is."""
PUBLISHED_DEVIATIONS = 2.0
UNKNOWN_REASON = "The reason is not known."


@dataclass(frozen=True)
class Judgement:
    """A verdict and, unless it agrees, why."""

    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class VerdictCounts:
    """Of a study's printed numbers: `fitted` ones are counted apart, repeated readings not at all."""

    agree: int = 0
    differ: int = 0
    not_compared: int = 0
    fitted_agree: int = 0
    fitted: int = 0

    @property
    def total(self) -> int:
        return self.agree + self.differ + self.not_compared

    @property
    def text(self) -> str:
        """As on a preset's card."""
        parts = [f"{self.agree} of {self.total} agree", f"{self.differ} differ" if self.differ else ""]
        parts += [f"{self.not_compared} not compared" if self.not_compared else ""]
        parts += [f"and {self.fitted_agree} of {self.fitted} that settings were fitted to" if self.fitted else ""]
        return ", ".join(filter(None, parts))


def judge_row(preset: Preset, row: ComparisonRow) -> Judgement:
    """Agrees: the mean of 3 seeds or more is within a point, or two published deviations, whichever is more."""
    if row.mean is None:
        return Judgement("not compared", row.reason)
    if row.difference is None:
        return Judgement("not compared", "Seeds of this cell diverged or have no value.")
    if row.shorter:
        return Judgement("not compared", row.shorter)
    if row.n < LEAST_SEEDS and not row.seedless:
        seeds = "1 seed" if row.n == 1 else f"{row.n} seeds"
        return Judgement("not compared", f"Only {seeds}: {LEAST_SEEDS} at least are needed.")
    if abs(row.difference) <= max(TOLERANCE, PUBLISHED_DEVIATIONS * (row.published.std or 0.0)):
        return Judgement("agrees")
    return Judgement("differs", difference_reason(preset, row.published))


def difference_reason(preset: Preset, published: Published) -> str:
    for reason in preset.reasons:
        if reason.take and published.reading.take not in reason.take:
            continue
        if spec_matches(published.match, reason.match):
            return reason.why
    return UNKNOWN_REASON


def count_verdicts(preset: Preset, rows: Iterable[ComparisonRow]) -> VerdictCounts:
    counted: Sequence[tuple[bool, Verdict]] = [
        (row.published.fitted, judge_row(preset, row).verdict) for row in rows if not row.published.repeated
    ]
    own = Counter(verdict for fitted, verdict in counted if not fitted)
    fitted = Counter(verdict for is_fitted, verdict in counted if is_fitted)
    return VerdictCounts(own["agrees"], own["differs"], own["not compared"], fitted["agrees"], sum(fitted.values()))


def stored_counts(preset: Preset) -> VerdictCounts | None:
    """Of the runs that came with this version of Tributary; None where there are none of this preset."""
    values = stored_verdicts().get(preset.name)
    return None if values is None else VerdictCounts(**values)
