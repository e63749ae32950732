"""A table for papers: LaTeX with booktabs and multirow, Markdown, and its numbers as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from experiments.charts.chart import DataTable
from experiments.charts.styles import first_positions
from experiments.papers.captions import PaperSource, latex_caption
from experiments.papers.latex import latex_escape, latex_value


@dataclass(frozen=True)
class PaperField:
    """`numbers` are mean, std and n in the shown unit, where it has them."""

    text: str
    standing: str = ""
    note: str = ""
    numbers: tuple[float | None, float | None, int] | None = None


@dataclass(frozen=True)
class PaperTable:
    """`heads` name what begins each row, `columns` has a word for each level of a column's head."""

    heads: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[tuple[str, ...], tuple[PaperField, ...]], ...]

    @property
    def grouped(self) -> PaperTable:
        """With rows that begin with the same words below each other, in the order of first appearance."""
        places = [first_positions(words) for words in zip(*(words for words, _ in self.rows), strict=True)]
        order = sorted(self.rows, key=lambda row: [place[word] for place, word in zip(places, row[0], strict=True)])
        return replace(self, rows=tuple(order))

    @property
    def levels(self) -> int:
        return len(self.columns[0]) if self.columns else 1

    @property
    def counts(self) -> list[int]:
        """Seeds behind each number."""
        return [field.numbers[2] for _, fields in self.rows for field in fields if field.numbers]


COLUMN_POINTS, TEXT_POINTS = 252.0, 516.0
SIZES = {r"\small": 4.6, r"\footnotesize": 4.1, r"\scriptsize": 3.6}
"""Points that a letter or digit takes on average."""
GAP_POINTS = 6.0


def table_latex(table: PaperTable, name: str, text: str, source: PaperSource) -> str:
    """A whole environment, over both columns where one is too narrow. Words that go on stand there once."""
    table = table.grouped
    environment, size = table_fit(table)
    names, numbers = max(1, len(table.heads)), len(table.columns)
    lines = [
        r"% \usepackage{booktabs,multirow}",
        rf"\begin{{{environment}}}",
        r"\centering",
        rf"\caption{{{latex_caption(text, source.link)}}}",
        rf"\label{{tab:{name}}}",
        r"\smallskip",
        rf"{size}\setlength{{\tabcolsep}}{{{GAP_POINTS / 2:g}pt}}",
        rf"\begin{{tabular}}{{@{{}}{'l' * names}{'r' * numbers}@{{}}}}",
        r"\toprule",
        *latex_heads(table, names),
        r"\midrule",
        *latex_body(table, names),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def table_fit(table: PaperTable) -> tuple[str, str]:
    """The environment and the size of letters in which it is likely to fit: one column first, letters not too small."""
    letters = [max(map(len, words), default=0) for words in zip(*row_texts(table), strict=True)]
    fits = [("table", r"\small"), ("table", r"\footnotesize"), *(("table*", size) for size in SIZES)]
    for environment, size in fits:
        room = COLUMN_POINTS if environment == "table" else TEXT_POINTS
        if SIZES[size] * sum(letters) + GAP_POINTS * (len(letters) - 1) <= room:
            return environment, size
    return fits[-1]


def row_texts(table: PaperTable) -> list[tuple[str, ...]]:
    """Heads and rows as they are read, a tuple for each line."""
    heads = (*(table.heads or ("",)), *(words[-1] for words in table.columns))
    lines = ((*(words or ("",)), *(field_letters(field) for field in fields)) for words, fields in table.rows)
    return [heads, *lines]


def field_letters(field: PaperField) -> str:
    return f"{field.text} ({field.note})" if field.note else field.text


def strip_heads(words: Sequence[str], heads: Sequence[str]) -> tuple[str, ...]:
    """Without what their column's head says already: 0.4 below "hybrid ratio"."""
    return tuple(word.removeprefix(f"{head} ") for word, head in zip(words, heads, strict=True))


def latex_heads(table: PaperTable, names: int) -> Iterator[str]:
    for level in range(table.levels):
        last = level == table.levels - 1
        begins = groupby(words[: level + 1] for words in table.columns)
        spans = [(words[level], len(list(equal))) for words, equal in begins]
        heads = [latex_escape(head[:1].upper() + head[1:]) for head in table.heads] or [""]
        joined = [latex_head(word, width) for word, width in spans]
        yield latex_row([*(heads if last else [""] * names), *joined])
        if not last:
            yield from latex_rules(spans, names)


def latex_head(word: str, width: int) -> str:
    text = latex_escape(word)
    return rf"\multicolumn{{{width}}}{{c}}{{{text}}}" if width > 1 else text


def latex_rules(spans: Sequence[tuple[str, int]], names: int) -> Iterator[str]:
    start = names + 1
    for _, width in spans:
        if width > 1:
            yield rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
        start += width


def latex_body(table: PaperTable, names: int) -> Iterator[str]:
    """Some room where the first word changes, if any goes over several rows."""
    begins = [tuple(words[:depth]) for depth in range(1, names) for words, _ in table.rows]
    grouped = len(begins) > len(set(begins))
    for place, (words, fields) in enumerate(table.rows):
        before = table.rows[place - 1][0] if place else ()
        if grouped and place and names > 1 and words[0] != before[0]:
            yield r"\addlinespace"
        heads = [latex_row_head(table, place, depth, names) for depth in range(names)]
        yield latex_row([*heads, *(latex_field(field) for field in fields)])


def latex_row_head(table: PaperTable, place: int, depth: int, names: int) -> str:
    words = table.rows[place][0] or ("",)
    begin = words[: depth + 1]
    if depth == names - 1:
        return latex_escape(words[depth])
    if place and table.rows[place - 1][0][: depth + 1] == begin:
        return ""
    height = 1
    while place + height < len(table.rows) and table.rows[place + height][0][: depth + 1] == begin:
        height += 1
    text = latex_escape(words[depth])
    return rf"\multirow[t]{{{height}}}{{*}}{{{text}}}" if height > 1 else text


def latex_field(field: PaperField) -> str:
    note = f" {latex_escape(f'({field.note})')}" if field.note else ""
    return ("--" if field.text == "–" else latex_value(field.text, field.standing)) + note


def latex_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def table_markdown(table: PaperTable, text: str) -> str:
    heads = [head[:1].upper() + head[1:] for head in table.heads] or [""]
    columns = [" · ".join(filter(None, words)) for words in table.columns]
    lines = [markdown_row([*heads, *columns]), markdown_row(["---"] * len(heads) + ["---:"] * len(columns))]
    lines += [markdown_row([*(words or ("",)), *map(markdown_field, fields)]) for words, fields in table.rows]
    return "\n".join([*lines, "", text]) + "\n"


def markdown_field(field: PaperField) -> str:
    marked = {"best": f"**{field.text}**", "tie": f"{field.text} †"}.get(field.standing, field.text)
    return f"{marked} ({field.note})" if field.note else marked


def markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table_numbers(table: PaperTable) -> DataTable:
    """A row for each field: its mean, deviation and seeds as numbers; text where it has none."""
    levels = ("column",) if table.levels == 1 else tuple(f"column {level}" for level in range(1, table.levels + 1))
    rows = tuple(
        (*(words or ("",)), *column, *(field.numbers or (None, None, None)), field.text, field.standing, field.note)
        for words, fields in table.rows
        for column, field in zip(table.columns, fields, strict=True)
        if field.text != "–"
    )
    return DataTable((*(table.heads or ("",)), *levels, "mean", "std", "n", "text", "standing", "note"), rows)
