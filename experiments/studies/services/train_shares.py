"""Whether the cells of a study train on the same share of their data: with another, they are not compared fairly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workers.catalog import load_catalog
from workers.spec import RunSpec
from workers.spec.workload import train_share

MOST_NAMES = 3


def train_share_warnings(specs: Iterable[RunSpec]) -> tuple[str, ...]:
    """A sentence for each data set whose cells differ in it; what is evaluated on other data is compared anyway."""
    by_dataset: dict[str, list[RunSpec]] = {}
    for spec in specs:
        by_dataset.setdefault(spec.dataset.name, []).append(spec)
    warnings = {name: train_share_warning(cells) for name, cells in by_dataset.items()}
    several = sum(map(bool, warnings.values())) > 1
    return tuple(f"{name}: {text}" if several else text for name, text in warnings.items() if text)


def train_share_warning(specs: Sequence[RunSpec]) -> str:
    labels_by_share: dict[float, list[str]] = {}
    for spec in specs:
        labels = labels_by_share.setdefault(round(train_share(spec), 6), [])
        label = load_catalog().strategies[spec.strategy.name].label
        labels.extend([label] if label not in labels else [])
    if len(labels_by_share) < 2:
        return ""
    return f"{difference_text(labels_by_share)}: {advice(specs)} to compare them fairly."


def difference_text(labels_by_share: dict[float, list[str]]) -> str:
    """By strategy, where that tells the cells apart."""
    groups = sorted(labels_by_share.items())
    if len({label for _, labels in groups for label in labels}) < sum(len(labels) for _, labels in groups):
        return (
            f"Cells train on different shares of each client's data ({joined([percent(each) for each, _ in groups])})"
        )
    (least, labels), *others = groups
    verb = "trains" if len(labels) == 1 else "train"
    rest = ", ".join(f"{names_text(each)} on {percent(share)}" for share, each in others)
    return f"{names_text(labels)} {verb} on {percent(least)} of each client's data, {rest}"


def advice(specs: Sequence[RunSpec]) -> str:
    if len({round(train_share(spec) + spec.evaluation.validation, 6) for spec in specs}) > 1:
        return "give all the same evaluation.on, held_out and validation"
    return f"set evaluation.validation: {max(spec.evaluation.validation for spec in specs):g} for all"


def names_text(names: Sequence[str]) -> str:
    return joined(names) if len(names) <= MOST_NAMES else f"{len(names)} other strategies"


def joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def percent(share: float) -> str:
    return f"{100 * share:.3g}%"
