"""One number per cell and column: what it is called, which of a group is best, and which cannot be told from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from experiments.labels.axes import Axes
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import paired_difference
from experiments.statistics.over_seeds import Sample

ValueKind = Literal["final", "best", "last", "at", "rounds", "bytes", "seconds"]
VALUE_KINDS: dict[ValueKind, str] = {
    "final": "last round",
    "best": "best round",
    "last": "mean of last k",
    "at": "at rounds",
    "rounds": "rounds to target",
    "bytes": "MB to target",
    "seconds": "seconds to target",
}
Standing = Literal["best", "tie", ""]


@dataclass(frozen=True)
class ValueChoice:
    """What a number stands for; `target` is in the metric's shown unit."""

    kind: ValueKind = "final"
    last: int = 5
    at: tuple[int, ...] = ()
    target: float | None = None

    @property
    def to_target(self) -> bool:
        return self.kind in ("rounds", "bytes", "seconds")

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
    """The best mean of each group of rivals, or several equal ones, and ties: their paired 95 % interval includes 0."""
    standing_by_cell: dict[str, Standing] = {}
    for group in groups:
        means = {cell: mean for cell in group if cell in samples and (mean := samples[cell].mean) is not None}
        if len(means) < 2:
            continue
        best = (max if higher else min)(means, key=lambda cell: means[cell])
        for cell in means:
            difference = paired_difference(samples[best], samples[cell])
            if means[cell] == means[best]:
                standing_by_cell[cell] = "best"
            elif difference is not None and difference.verdict == "tie":
                standing_by_cell[cell] = "tie"
    return standing_by_cell
