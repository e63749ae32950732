"""One number per cell and column: what it is called, which of a group is best, and which cannot be told from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from experiments.labels.axes import Axes
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import paired_difference
from experiments.statistics.over_seeds import Sample, best_complete

ValueKind = Literal["final", "best", "last", "at", "rounds", "bytes", "seconds", "cpu"]
VALUE_KINDS: dict[ValueKind, str] = {
    "final": "last round",
    "best": "best round",
    "last": "mean of last k",
    "at": "at rounds",
    "rounds": "rounds to target",
    "bytes": "MB to target",
    "seconds": "seconds to target",
    "cpu": "CPU seconds to target",
}
Standing = Literal["best", "tie", ""]
FEWEST_SEEDS = 3
"""Fewer matching seeds are too few to say that a difference was looked for and not found."""
TIE_MEANING = "not shown to differ from the best (the 95 % interval of the paired difference includes 0"


class CountedSeeds(Protocol):
    """How many seeds are behind a number, and how many are not."""

    @property
    def n(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def missed(self) -> int: ...


@dataclass(frozen=True)
class ValueChoice:
    """What a number stands for; `target` is in the metric's shown unit."""

    kind: ValueKind = "final"
    last: int = 5
    at: tuple[int, ...] = ()
    target: float | None = None

    @property
    def to_target(self) -> bool:
        return self.kind in ("rounds", "bytes", "seconds", "cpu")

    @property
    def columns(self) -> tuple[int, ...]:
        """One per round asked for, otherwise a single one."""
        return self.at if self.kind == "at" else (0,)


def value_label(metric: MetricLabel, choice: ValueChoice) -> MetricLabel:
    if choice.to_target:
        goal = f"{choice.target:g} {metric.unit}".strip() if choice.target is not None else "the target"
        text, unit, scale, digits = {
            "rounds": ("Rounds", "", 1.0, 1),
            "bytes": ("Traffic", "MB", 1e-6, 2),
            "seconds": ("Time", "s", 1.0, 1),
            "cpu": ("CPU time", "s", 1.0, 1),
        }[choice.kind]
        return MetricLabel(choice.kind, f"{text} to {goal} {metric.text.lower()}", unit, scale, digits)
    return replace(metric, text=f"{metric.text} {moment_text(choice)}")


def moment_text(choice: ValueChoice) -> str:
    if choice.kind == "at":
        rounds = ", ".join(map(str, choice.at))
        return f"at round{'s' if len(choice.at) > 1 else ''} {rounds}" if rounds else "at chosen rounds"
    return {"best": "at its best", "last": f"over the last {choice.last} rounds"}.get(choice.kind, "at the last round")


def sample_text(sample: Sample | None, label: MetricLabel, plus_minus: str = " ± ") -> str:
    """As "95.75 ± 0.10"; one seed has no spread."""
    if sample is None or sample.mean is None:
        return "–"
    spread = "" if sample.std is None else f"{plus_minus}{label.format(sample.std)}"
    return f"{label.format(sample.mean)}{spread}"


def sample_numbers(sample: Sample, label: MetricLabel) -> tuple[float | None, float | None, int]:
    """Mean, deviation and seeds, in the shown unit and to the last digit."""
    mean, std = (None if each is None else each * label.scale for each in (sample.mean, sample.std))
    return mean, std, sample.n


def lost_text(lost: int, missed: int) -> str:
    """Beside a number: the seeds that are not in it."""
    return ", ".join(f"{count} {word}" for count, word in ((lost, "diverged"), (missed, "missing")) if count)


def seeds_text(each: CountedSeeds) -> str:
    """As "n=2, 3 diverged"."""
    return ", ".join(filter(None, [f"n={each.n}", lost_text(each.lost, each.missed)]))


def lost_note(lost: int, missed: int) -> str:
    """Below a chart or a table, in words."""
    parts = []
    if lost:
        parts.append(f"{lost} {'seed' if lost == 1 else 'seeds'} diverged (not finite)")
    if missed:
        verb = "seed is" if missed == 1 else "seeds are"
        parts.append(f"{missed} {verb} missing (failed, cancelled or never got there)")
    return f"{' and '.join(parts)}: not in the means" if parts else ""


def samples_note(samples: Iterable[Sample]) -> str:
    every = list(samples)
    return lost_note(sum(each.lost for each in every), sum(each.missed for each in every))


def compared_axis(axes: Axes, chosen: str = "") -> str:
    """What competes: the axis chosen, the strategy, or the first that varies."""
    return chosen if chosen in axes else "strategy" if "strategy" in axes else next(iter(axes), "")


def rival_groups(cells: Sequence[str], axes: Axes, compared: str) -> list[list[str]]:
    """Cells that agree in everything but the compared axis; only those are ever called better or worse."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        groups.setdefault(setting_of(cell, axes, compared), []).append(cell)
    return list(groups.values())


def setting_of(cell: str, axes: Axes, compared: str) -> tuple[str, ...]:
    return tuple(words[cell] for axis, words in axes.items() if axis != compared)


def standings(samples: Mapping[str, Sample], groups: Sequence[Sequence[str]], *, higher: bool) -> dict[str, Standing]:
    """The best mean of each group of rivals, or several equal ones, and ties, which were not shown to differ from it.

    Their paired 95 % interval over three seeds or more includes 0; fewer show nothing either way.

    Cells that lost seeds are neither; none is the best where one of those could be it, or where every rival lost some.
    """
    standing_by_cell: dict[str, Standing] = {}
    for group in groups:
        rivals = {cell: samples[cell] for cell in group if cell in samples and (samples[cell].n or samples[cell].lost)}
        best = best_complete(rivals, higher=higher) if len(rivals) > 1 else None
        if best is None:
            continue
        for cell in (cell for cell, sample in rivals.items() if sample.complete):
            difference = paired_difference(samples[best], samples[cell])
            if samples[cell].mean == samples[best].mean:
                standing_by_cell[cell] = "best"
            elif difference is not None and difference.n >= FEWEST_SEEDS and difference.verdict == "tie":
                standing_by_cell[cell] = "tie"
    return standing_by_cell
