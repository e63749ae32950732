"""A table of any axes down and across, as page, Markdown and LaTeX. Nothing is averaged but seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from experiments.charts.chart import Table
from experiments.charts.styles import in_order
from experiments.compare.charts.values import Axes, Standing, Wanted, rivals, sample_text, standings
from experiments.labels.axes import axis_title
from experiments.labels.metrics import MetricLabel
from experiments.statistics.intervals import Sample

Values = Mapping[tuple[str, int], Sample]
"""By cell and column (a round, or 0)."""


@dataclass(frozen=True)
class Entry:
    sample: Sample
    standing: Standing = ""


@dataclass(frozen=True)
class PivotTable:
    """`head` has the words of each column, `rows` those of each row with its entries; `down` names the axes."""

    label: MetricLabel
    down: tuple[str, ...]
    across: tuple[str, ...]
    head: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Entry | None, ...]], ...]
    compared: str

    @property
    def head_levels(self) -> list[list[tuple[str, int]]]:
        """For each axis across: its words with the number of columns that each spans."""
        levels = len(self.head[0]) if self.head else 0
        return [[(words[-1], width) for words, width in spans(self.head, level)] for level in range(levels)]

    @property
    def entries(self) -> list[Entry]:
        return [entry for _, entries in self.rows for entry in entries if entry]


def pivot_table(
    cells: Sequence[str],
    axes: Axes,
    values: Values,
    label: MetricLabel,
    wanted: Wanted,
    *,
    across: Sequence[str] = (),
    compared: str = "",
) -> PivotTable:
    columns = across_axes(axes, across, compared, wanted)
    down = tuple(axis for axis in axes if axis not in columns)
    grid: dict[tuple[str, ...], dict[tuple[str, ...], Entry]] = {}
    rounds = wanted.columns if wanted.kind == "at" else (0,)
    for column in rounds:
        samples = {cell: values[cell, column] for cell in cells if (cell, column) in values}
        standing = standings(samples, rivals(cells, axes, compared), higher=label.higher_is_better)
        for cell in cells:
            row, here = words(cell, axes, down), head_of(cell, axes, columns, column, wanted)
            line = grid.setdefault(row, {})
            if cell in samples:
                line[here] = Entry(samples[cell], standing.get(cell, ""))
    head = in_blocks([head_of(cell, axes, columns, column, wanted) for cell in cells for column in rounds])
    rows = tuple((row, tuple(found.get(place) for place in head)) for row, found in grid.items())
    return PivotTable(label, down, (*columns, *(("round",) if wanted.kind == "at" else ())), head, rows, compared)


def across_axes(axes: Axes, chosen: Sequence[str], compared: str, wanted: Wanted) -> tuple[str, ...]:
    """Those chosen; otherwise the last axis that is not compared, unless rounds go across already."""
    known = tuple(axis for axis in chosen if axis in axes)
    if known or wanted.kind == "at" or len(axes) < 2:
        return known
    return ([axis for axis in axes if axis != compared][-1],)


def words(cell: str, axes: Axes, chosen: Sequence[str]) -> tuple[str, ...]:
    return tuple(axes[axis][cell] for axis in chosen)


def head_of(cell: str, axes: Axes, columns: Sequence[str], column: int, wanted: Wanted) -> tuple[str, ...]:
    return (*words(cell, axes, columns), *((f"round {column}",) if wanted.kind == "at" else ()))


def in_blocks(heads: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Each once, those with the same first word side by side, words in the order of first appearance."""
    places = [in_order(words) for words in zip(*heads, strict=True)]
    return tuple(sorted(set(heads), key=lambda head: [place[word] for place, word in zip(places, head, strict=True)]))


def spans(heads: Sequence[tuple[str, ...]], level: int) -> Iterator[tuple[tuple[str, ...], int]]:
    for words_so_far, found in groupby(head[: level + 1] for head in heads):
        yield words_so_far, len(list(found))


def pivot_markdown(table: PivotTable) -> str:
    names = [axis_title(axis) for axis in table.down] or [""]
    heads = [" · ".join(head) or table.label.axis for head in table.head]
    lines = [pipes([*names, *heads]), pipes(["---"] * len(names) + ["---:"] * len(heads))]
    for row, entries in table.rows:
        lines.append(pipes([*(row or ("",)), *(marked(entry, table.label) for entry in entries)]))
    return "\n".join([*lines, "", f"{table.label.axis}, {caption(table)}"]) + "\n"


def marked(entry: Entry | None, label: MetricLabel) -> str:
    text = sample_text(entry.sample if entry else None, label)
    if entry is None or not entry.standing:
        return text
    return f"**{text}**" if entry.standing == "best" else f"{text} †"


def pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def caption(table: PivotTable) -> str:
    """What the numbers are; what bold and † mean, where they occur."""
    parts = [f"mean ± std over seeds ({seed_counts(table)})"]
    standings_found = {entry.standing for entry in table.entries}
    if "best" in standings_found:
        parts.append("bold: best mean among cells that differ only in " + axis_title(table.compared))
    if "tie" in standings_found:
        parts.append("†: no different from the best (95 % interval of the paired difference includes 0)")
    if missed := sum(entry.sample.missed for entry in table.entries):
        parts.append(f"{missed} {'run' if missed == 1 else 'runs'} never reached the target and are not in the means")
    if lost := sum(entry.sample.lost for entry in table.entries):
        parts.append(f"{lost} {'run' if lost == 1 else 'runs'} not finite (diverged) and not in the means")
    return "; ".join(parts)


def seed_counts(table: PivotTable) -> str:
    counts = sorted({entry.sample.n for entry in table.entries}) or [0]
    return f"n={counts[0]}" if counts[0] == counts[-1] else f"n={counts[0]}–{counts[-1]}"


def pivot_data(cells: Sequence[str], axes: Axes, values: Values, *, compared: str, higher: bool) -> Table:
    """Tidy: a row per cell and column, in stored units."""
    columns = ("cell", *axes, "column", "mean", "std", "n", "lost", "missed", "standing")
    rows = []
    for column in dict.fromkeys(column for _, column in values):
        samples = {cell: values[cell, column] for cell in cells if (cell, column) in values}
        standing = standings(samples, rivals(cells, axes, compared), higher=higher)
        for cell, each in samples.items():
            told = (each.mean, each.std, each.n, each.lost, each.missed, standing.get(cell, ""))
            rows.append((cell, *words(cell, axes, list(axes)), column or "", *told))
    return Table(columns, tuple(rows))


SPECIAL = {
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


def escaped(text: str) -> str:
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def pivot_latex(table: PivotTable) -> str:
    """A whole table environment; its only package is booktabs."""
    names = max(1, len(table.down))
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(f'{table.label.axis}: {caption(table)}.')}}}",
        rf"\begin{{tabular}}{{{'l' * names}{'r' * len(table.head)}}}",
        r"\toprule",
        *heads(table, names),
        r"\midrule",
        *(
            ended([*(map(escaped, row or ("",))), *(value(each, table.label) for each in entries)])
            for row, entries in table.rows
        ),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def heads(table: PivotTable, names: int) -> Iterator[str]:
    """A line for each axis across, neighbours with the same word joined; the last also names the axes that go down."""
    if not table.head_levels:
        yield ended([*down_names(table, names), escaped(table.label.axis)])
    for level, words in enumerate(table.head_levels, start=1):
        last = level == len(table.head_levels)
        joined = [multicolumn(escaped(word), width) if width > 1 else escaped(word) for word, width in words]
        yield ended([*(down_names(table, names) if last else [""] * names), *joined])
        if not last:
            yield from rules(words, names)


def rules(words: Sequence[tuple[str, int]], names: int) -> Iterator[str]:
    start = names + 1
    for _, width in words:
        if width > 1:
            yield rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
        start += width


def down_names(table: PivotTable, names: int) -> list[str]:
    return [escaped(axis_title(axis).capitalize()) for axis in table.down] or [""] * names


def multicolumn(text: str, width: int) -> str:
    return rf"\multicolumn{{{width}}}{{c}}{{{text}}}"


def value(entry: Entry | None, label: MetricLabel) -> str:
    if entry is None or entry.sample.mean is None:
        return "--"
    text = sample_text(entry.sample, label, r" \pm ")
    if entry.standing == "best":
        return rf"$\mathbf{{{text}}}$"
    return rf"${text}^{{\dagger}}$" if entry.standing == "tie" else f"${text}$"


def ended(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
