"""A table of any axes down and across, as page, Markdown and LaTeX. Nothing is averaged but seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from experiments.charts.chart import DataTable
from experiments.charts.styles import first_positions
from experiments.compare.charts.values import (
    Standing,
    ValueChoice,
    rival_groups,
    sample_text,
    samples_note,
    seeds_text,
    standings,
)
from experiments.labels.axes import Axes, axis_title
from experiments.labels.metrics import MetricLabel
from experiments.statistics.over_seeds import Sample

SamplesByCell = Mapping[tuple[str, int], Sample]
"""By cell and column (a round, or 0)."""


@dataclass(frozen=True)
class PivotEntry:
    sample: Sample
    standing: Standing = ""


@dataclass(frozen=True)
class PivotTable:
    """`head` has the words of each column, `rows` those of each row with its entries; `down` names the axes."""

    label: MetricLabel
    down: tuple[str, ...]
    across: tuple[str, ...]
    head: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[tuple[str, ...], tuple[PivotEntry | None, ...]], ...]
    compared: str

    @property
    def head_levels(self) -> list[list[tuple[str, int]]]:
        """For each axis across: its words with the number of columns that each spans."""
        levels = len(self.head[0]) if self.head else 0
        return [[(words[-1], width) for words, width in head_spans(self.head, level)] for level in range(levels)]

    @property
    def entries(self) -> list[PivotEntry]:
        return [entry for _, entries in self.rows for entry in entries if entry]


def pivot_table(
    cells: Sequence[str],
    axes: Axes,
    values: SamplesByCell,
    label: MetricLabel,
    value_choice: ValueChoice,
    *,
    across: Sequence[str] = (),
    compared: str = "",
) -> PivotTable:
    columns = across_axes(axes, across, compared, value_choice)
    down = tuple(axis for axis in axes if axis not in columns)
    grid: dict[tuple[str, ...], dict[tuple[str, ...], PivotEntry]] = {}
    rounds = value_choice.columns if value_choice.kind == "at" else (0,)
    for column in rounds:
        samples = {cell: values[cell, column] for cell in cells if (cell, column) in values}
        standing = standings(samples, rival_groups(cells, axes, compared), higher=label.higher_is_better)
        for cell in cells:
            row, here = cell_words(cell, axes, down), column_head(cell, axes, columns, column, value_choice)
            line = grid.setdefault(row, {})
            if cell in samples:
                line[here] = PivotEntry(samples[cell], standing.get(cell, ""))
    head = sort_heads([column_head(cell, axes, columns, column, value_choice) for cell in cells for column in rounds])
    rows = tuple((row, tuple(entries.get(place) for place in head)) for row, entries in grid.items())
    return PivotTable(label, down, (*columns, *(("round",) if value_choice.kind == "at" else ())), head, rows, compared)


def across_axes(axes: Axes, chosen: Sequence[str], compared: str, value_choice: ValueChoice) -> tuple[str, ...]:
    """Those chosen; otherwise the last axis that is not compared, unless rounds go across already."""
    known = tuple(axis for axis in chosen if axis in axes)
    if known or value_choice.kind == "at" or len(axes) < 2:
        return known
    return ([axis for axis in axes if axis != compared][-1],)


def cell_words(cell: str, axes: Axes, chosen: Sequence[str]) -> tuple[str, ...]:
    return tuple(axes[axis][cell] for axis in chosen)


def column_head(
    cell: str, axes: Axes, columns: Sequence[str], column: int, value_choice: ValueChoice
) -> tuple[str, ...]:
    return (*cell_words(cell, axes, columns), *((f"round {column}",) if value_choice.kind == "at" else ()))


def sort_heads(heads: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Each once, those with the same first word side by side, words in the order of first appearance."""
    places = [first_positions(words) for words in zip(*heads, strict=True)]
    return tuple(sorted(set(heads), key=lambda head: [place[word] for place, word in zip(places, head, strict=True)]))


def head_spans(heads: Sequence[tuple[str, ...]], level: int) -> Iterator[tuple[tuple[str, ...], int]]:
    for words_so_far, equal_heads in groupby(head[: level + 1] for head in heads):
        yield words_so_far, len(list(equal_heads))


def pivot_markdown(table: PivotTable) -> str:
    names = [axis_title(axis) for axis in table.down] or [""]
    heads = [" · ".join(head) or table.label.axis for head in table.head]
    lines = [markdown_row([*names, *heads]), markdown_row(["---"] * len(names) + ["---:"] * len(heads))]
    for row, entries in table.rows:
        lines.append(markdown_row([*(row or ("",)), *(markdown_entry(entry, table.label) for entry in entries)]))
    return "\n".join([*lines, "", f"{table.label.axis}, {pivot_caption(table)}"]) + "\n"


def markdown_entry(entry: PivotEntry | None, label: MetricLabel) -> str:
    if entry is None:
        return "–"
    text = sample_text(entry.sample, label)
    marked = {"best": f"**{text}**", "tie": f"{text} †", "": text}[entry.standing]
    return f"{marked}{entry_note(entry.sample)}"


def entry_note(sample: Sample) -> str:
    """As " (n=2, 3 diverged)", where seeds are lost."""
    return "" if sample.complete else f" ({seeds_text(sample)})"


def markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def pivot_caption(table: PivotTable) -> str:
    """What the numbers are; what bold and † mean, where they occur."""
    parts = [f"mean ± std over seeds ({seed_counts(table)})"]
    standings_found = {entry.standing for entry in table.entries}
    if "best" in standings_found:
        parts.append("bold: best mean among cells that differ only in " + axis_title(table.compared))
    if "tie" in standings_found:
        parts.append("†: no different from the best (95 % interval of the paired difference includes 0)")
    if note := samples_note(entry.sample for entry in table.entries):
        parts.append(f"{note}, and a cell that lost seeds is never called the best")
    return "; ".join(parts)


def seed_counts(table: PivotTable) -> str:
    counts = sorted({entry.sample.n for entry in table.entries}) or [0]
    return f"n={counts[0]}" if counts[0] == counts[-1] else f"n={counts[0]}–{counts[-1]}"


def pivot_data(cells: Sequence[str], axes: Axes, values: SamplesByCell, *, compared: str, higher: bool) -> DataTable:
    """Tidy: a row per cell and column, in stored units."""
    columns = ("cell", *axes, "column", "mean", "std", "n", "lost", "missed", "standing")
    rows = []
    for column in dict.fromkeys(column for _, column in values):
        samples = {cell: values[cell, column] for cell in cells if (cell, column) in values}
        standing = standings(samples, rival_groups(cells, axes, compared), higher=higher)
        for cell, each in samples.items():
            numbers = (each.mean, each.std, each.n, each.lost, each.missed, standing.get(cell, ""))
            rows.append((cell, *cell_words(cell, axes, list(axes)), column or "", *numbers))
    return DataTable(columns, tuple(rows))


LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "–": "--",
    "≈": r"$\approx$",
    "×": r"$\times$",
}


def latex_escape(text: str) -> str:
    return "".join(LATEX_ESCAPES.get(letter, letter) for letter in text)


def pivot_latex(table: PivotTable) -> str:
    """A whole table environment; its only package is booktabs."""
    names = max(1, len(table.down))
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_escape(f'{table.label.axis}: {pivot_caption(table)}.')}}}",
        rf"\begin{{tabular}}{{{'l' * names}{'r' * len(table.head)}}}",
        r"\toprule",
        *latex_heads(table, names),
        r"\midrule",
        *(
            latex_row([*(map(latex_escape, row or ("",))), *(latex_entry(each, table.label) for each in entries)])
            for row, entries in table.rows
        ),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def latex_heads(table: PivotTable, names: int) -> Iterator[str]:
    """A line for each axis across, neighbours with the same word joined; the last also names the axes that go down."""
    if not table.head_levels:
        yield latex_row([*latex_down_names(table, names), latex_escape(table.label.axis)])
    for level, words in enumerate(table.head_levels, start=1):
        last = level == len(table.head_levels)
        joined = [
            latex_multicolumn(latex_escape(word), width) if width > 1 else latex_escape(word) for word, width in words
        ]
        yield latex_row([*(latex_down_names(table, names) if last else [""] * names), *joined])
        if not last:
            yield from latex_rules(words, names)


def latex_rules(words: Sequence[tuple[str, int]], names: int) -> Iterator[str]:
    start = names + 1
    for _, width in words:
        if width > 1:
            yield rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
        start += width


def latex_down_names(table: PivotTable, names: int) -> list[str]:
    return [latex_escape(axis_title(axis).capitalize()) for axis in table.down] or [""] * names


def latex_multicolumn(text: str, width: int) -> str:
    return rf"\multicolumn{{{width}}}{{c}}{{{text}}}"


def latex_entry(entry: PivotEntry | None, label: MetricLabel) -> str:
    if entry is None:
        return "--"
    note = entry_note(entry.sample)
    if entry.sample.mean is None:
        return f"--{note}"
    text = sample_text(entry.sample, label, r" \pm ").replace("inf", r"\infty")
    if entry.standing == "best":
        return rf"$\mathbf{{{text}}}$"
    return rf"${text}^{{\dagger}}$" if entry.standing == "tie" else f"${text}${note}"


def latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
