"""Displays that are views of Compare: which, and the choices that make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from experiments.compare.displays.subject import Subject
from experiments.labels.axes import MAIN_AXES, Axes
from experiments.labels.metrics import metric_label, sort_metric_names

RATIO = "hybrid.ratio"
MOST_LINES = 40
"""In one chart of a page for a paper; Compare has pages instead."""
SKEWS = ("label-dirichlet", "classes-per-client", "shards")


@dataclass(frozen=True)
class CompareView:
    """`chart` is a chart's name there; the query is the address's."""

    title: str
    chart: str
    query: str


def curve_views(subject: Subject) -> list[CompareView]:
    return [
        CompareView(title, "curves", view_query(subject, *style_choices(subject), ("metric", metric), *only))
        for metric in drawn_metrics(subject.metrics)
        for title, only in split_curves(subject, metric_label(metric).text)
    ]


def drawn_metrics(metrics: Sequence[str]) -> list[str]:
    """Accuracy and loss, or whatever an app measures in their place."""
    return [name for name in ("accuracy", "loss") if name in metrics] or sort_metric_names(list(metrics))[:2]


def style_choices(subject: Subject) -> list[tuple[str, str]]:
    """Ratios by colour and methods side by side, as the study of hybrid sharing drew them; otherwise data sets are."""
    axes = subject.selection.axes
    if RATIO in axes:
        return [("colour", RATIO), *([("column", "hybrid.method")] if "hybrid.method" in axes else [])]
    return [*brief_choice(subject), *([("column", "dataset")] if "dataset" in axes and len(axes) > 1 else [])]


def brief_choice(subject: Subject) -> list[tuple[str, str]]:
    """Short labels where a component decides what else differs, as a centralised reference does."""
    return [("brief", "1")] if len(subject.label_axes) < len(subject.selection.axes) else []


def split_curves(subject: Subject, title: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """One chart; where there are more lines than a chart takes, one for each value of the smallest axis, and so on with
    the next until every line is drawn."""
    axes = {axis: words for axis, words in subject.selection.axes.items() if axis not in ("strategy", RATIO)}
    order = sorted(
        axes, key=lambda axis: (axis == "hybrid.method", len(set(axes[axis].values())), axis not in MAIN_AXES)
    )
    return split_cells([cell.key for cell in subject.selection.cells], axes, subject.selection.slugs, order, title, [])


def split_cells(
    cells: Sequence[str], axes: Axes, slugs: Axes, order: Sequence[str], title: str, only: list[tuple[str, str]]
) -> list[tuple[str, list[tuple[str, str]]]]:
    if len(cells) <= MOST_LINES or not order:
        return [(title, only)]
    axis, *rest = order
    parts: dict[str, list[str]] = {}
    for cell in cells:
        parts.setdefault(axes[axis][cell], []).append(cell)
    if len(parts) == 1:
        return split_cells(cells, axes, slugs, rest, title, only)
    return [
        part
        for word, own in parts.items()
        for part in split_cells(
            own, axes, slugs, rest, f"{title}, {word}", [*only, ("only", f"{axis}:{slugs[axis][own[0]]}")]
        )
    ]


def overlay_views(subject: Subject) -> list[CompareView]:
    """Strategies over each other where clients' labels are skewed, a panel for each data set."""
    axes = subject.selection.axes
    chosen = [("only", f"partition:{word}") for word in skewed_partitions(subject)]
    column = next((axis for axis in ("dataset", "model", "partition") if axis in axes), "-")
    style = [*brief_choice(subject), ("colour", "strategy"), ("column", column)]
    return [CompareView("Strategies where labels are skewed", "curves", view_query(subject, *style, *chosen))]


def skewed_partitions(subject: Subject) -> list[str]:
    """The slugs of partitions that skew labels, where there are others too."""
    words = subject.selection.slugs.get("partition", {})
    skewed = [words[cell] for cell, row in subject.selection.flat.items() if words and row.get("partition") in SKEWS]
    return list(dict.fromkeys(skewed))


def ratio_views(subject: Subject) -> list[CompareView]:
    chosen = view_query(subject, ("against", RATIO))
    return [CompareView("Final accuracy against hybrid ratio", "against", chosen)]


def ratio_to_target_views(subject: Subject) -> list[CompareView]:
    chosen = view_query(subject, ("against", RATIO), *target_choices(subject))
    return [CompareView(f"Rounds to {100 * subject.target:g} % against hybrid ratio", "against", chosen)]


def target_choices(subject: Subject) -> list[tuple[str, str]]:
    return [("value", "rounds"), ("target", f"{100 * subject.target:g}")]


BATCH_SIZE, RATE = "local.batch_size", "local.optimizer.lr"
TUNED_AXES = (BATCH_SIZE, "local.optimizer", "local.epochs")


def tuning_views(subject: Subject) -> list[CompareView]:
    """Final accuracy over batch size and learning rate, a panel for each number of epochs, of everything that was tried
    with several of both."""
    axes = {axis: words for axis, words in subject.selection.axes.items() if axis not in TUNED_AXES}
    tried: dict[tuple[str, ...], dict[str, tuple[Any, Any]]] = {}
    for cell, row in subject.selection.flat.items():
        if row.get(BATCH_SIZE) is not None and row.get(RATE) is not None:
            tried.setdefault(tuple(axes[axis][cell] for axis in axes), {})[cell] = row[BATCH_SIZE], row[RATE]
    return [
        CompareView(
            " · ".join(["The tuning grid", *words]), "map", tuning_query(subject, list(axes), next(iter(cells)))
        )
        for words, cells in tried.items()
        if all(len(set(values)) > 1 for values in zip(*cells.values(), strict=True))
    ]


def tuning_query(subject: Subject, axes: Sequence[str], cell: str) -> str:
    only = [("only", f"{axis}:{subject.selection.slugs[axis][cell]}") for axis in axes]
    return view_query(subject, ("against", BATCH_SIZE), ("second", RATE), *only)


def view_query(subject: Subject, *choices: tuple[str, str]) -> str:
    return urlencode([("study", str(subject.study.pk)), *choices])
