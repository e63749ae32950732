"""A pivot table as LaTeX, in the manner of booktabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.charts.labels import axis_title
from experiments.charts.metrics import MetricLabel
from experiments.charts.pivot_table import Entry, PivotTable, caption
from experiments.charts.values import shown

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
    text = shown(entry.sample, label, r" \pm ")
    if entry.standing == "best":
        return rf"$\mathbf{{{text}}}$"
    return rf"${text}^{{\dagger}}$" if entry.standing == "tie" else f"${text}$"


def ended(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
