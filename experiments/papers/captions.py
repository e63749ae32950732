"""Captions that stand alone: what is shown, over how many seeds, on which data, by which version, from which page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import Chart, DataTable
from experiments.charts.curves import POINTED_AT
from experiments.papers.latex import latex_escape, latex_url


@dataclass(frozen=True)
class PaperSource:
    """`datasets` by their names, `engines` the versions that computed the runs, `link` the page that shows them."""

    datasets: tuple[str, ...]
    engines: tuple[int, ...]
    platform: str
    link: str

    @property
    def data_words(self) -> str:
        return f"Data: {', '.join(self.datasets)}." if self.datasets else ""

    @property
    def version_words(self) -> str:
        numbers = " and ".join(map(str, self.engines))
        engine = f", engine version{'s' if len(self.engines) > 1 else ''} {numbers}" if numbers else ""
        return f"Computed with Tributary {self.platform}{engine}"


def chart_caption(chart: Chart, source: PaperSource) -> str:
    return caption(chart.title, notes_sentences(chart.notes), seeds_sentence(chart.table), source)


def caption(title: str, notes: str, seeds: str, source: PaperSource) -> str:
    parts = [sentence(title), notes, seeds, source.data_words, f"{source.version_words}: {source.link}"]
    return " ".join(part for part in parts if part)


def latex_caption(text: str, link: str) -> str:
    """The link can be broken at its slashes, which LaTeX would not do."""
    return latex_escape(text.removesuffix(link)) + latex_url(link)


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def notes_sentences(notes: str) -> str:
    """Notes below a chart are separated by dots in the middle."""
    return " ".join(sentence(note.strip()) for note in notes.replace(POINTED_AT, "").split(" · ") if note.strip())


def seeds_sentence(table: DataTable) -> str:
    """Of the numbers behind a chart; nothing where they are not over seeds."""
    if "n" not in table.columns:
        return ""
    place = table.columns.index("n")
    return seed_counts_sentence([row[place] for row in table.rows])


def seed_counts_sentence(counts: Sequence[Any]) -> str:
    known = sorted({count for count in counts if isinstance(count, int) and count > 0})
    if not known:
        return ""
    if known == [1]:
        return "One seed."
    return f"n = {known[0]} seeds." if len(known) == 1 else f"n = {known[0]} to {known[-1]} seeds."


def figure_latex(name: str, text: str, source: PaperSource, *, spans_columns: bool) -> str:
    """The environment that puts the downloaded file and its caption into a paper."""
    environment = "figure*" if spans_columns else "figure"
    lines = [
        r"% \usepackage{graphicx}",
        rf"\begin{{{environment}}}",
        r"\centering",
        rf"\includegraphics{{{name}}}",
        rf"\caption{{{latex_caption(text, source.link)}}}",
        rf"\label{{fig:{name}}}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"
