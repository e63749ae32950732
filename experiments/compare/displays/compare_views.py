"""Displays that are views of Compare: which, and the choices that make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from experiments.compare.chart_builders import MOST_LINES
from experiments.compare.displays.subject import Subject
from experiments.labels.axes import axis_title
from experiments.labels.metrics import metric_label, sort_metric_names

RATIO = "hybrid.ratio"
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
    """One chart, or one for each value of the smallest axis where there are more lines than a chart takes."""
    axes = {axis: list(dict.fromkeys(words.values())) for axis, words in subject.selection.axes.items()}
    others = sorted((len(words), axis) for axis, words in axes.items() if axis not in ("strategy", RATIO))
    if len(subject.selection.cells) <= MOST_LINES or not others:
        return [(title, [])]
    axis = next((axis for _, axis in others if axis != "hybrid.method"), others[0][1])
    return [(f"{title}, {axis_title(axis)} {word}", [("only", f"{axis}:{word}")]) for word in axes[axis]]


def overlay_views(subject: Subject) -> list[CompareView]:
    """Strategies over each other where clients' labels are skewed, a panel for each data set."""
    axes = subject.selection.axes
    chosen = [("only", f"partition:{word}") for word in skewed_partitions(subject)]
    column = next((axis for axis in ("dataset", "model", "partition") if axis in axes), "-")
    style = [*brief_choice(subject), ("colour", "strategy"), ("column", column)]
    return [CompareView("Strategies where labels are skewed", "curves", view_query(subject, *style, *chosen))]


def skewed_partitions(subject: Subject) -> list[str]:
    """The words of partitions that skew labels, where there are others too."""
    words = subject.selection.axes.get("partition", {})
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


def view_query(subject: Subject, *choices: tuple[str, str]) -> str:
    return urlencode([("study", str(subject.study.pk)), *choices])
