"""LaTeX through a strict parser: every brace, environment and formula closed, no macro but of the named packages."""

from __future__ import annotations

from typing import Any

import pytest
from pylatexenc.latexwalker import LatexEnvironmentNode, LatexMacroNode, LatexWalker

from experiments.charts.chart import csv_text
from experiments.papers.captions import PaperSource
from experiments.papers.latex import latex_escape, latex_url, latex_value
from experiments.papers.tables import PaperField, PaperTable, table_fit, table_latex, table_markdown, table_numbers

KNOWN = {
    *("usepackage", "centering", "caption", "label", "toprule", "midrule", "bottomrule", "cmidrule", "addlinespace"),
    *("multicolumn", "multirow", "mathbf", "pm", "dagger", "cdot", "mu", "texttt", "allowbreak", "\\"),
    *("smallskip", "small", "footnotesize", "scriptsize", "setlength", "tabcolsep"),
    *("textbackslash", "textasciitilde", "textasciicircum", "&", "%", "$", "#", "_", "{", "}"),
}
HARSH = "100%_{A & B} ~$x^2#\\"
SOURCE = PaperSource(("UCI HAR",), (3,), "0.1.0", "http://lab/compare?study=1&tag=a%20b#x")
TABLE = PaperTable(
    ("partition", "strategy"),
    ((HARSH, "round 5"), (HARSH, "round 10"), ("UCI HAR", "round 5")),
    (
        (
            ("iid", "FedAvg"),
            (PaperField("91.00 ± 1.41", "best", "", (91.0, 1.4142, 2)), PaperField("–"), PaperField("50.00")),
        ),
        (
            ("iid", "FedProx (μ = 0.1)"),
            (PaperField("90.50 ± 0.71", "tie", "", (90.5, 0.7071, 2)), PaperField("never"), PaperField("–")),
        ),
        (("shards", "FedAvg"), (PaperField("0.50", "", "n=1, 1 diverged"), PaperField("–"), PaperField("–"))),
    ),
)
LATEX = table_latex(TABLE, "values", f"Accuracy, mean ± std. {SOURCE.link}", SOURCE)


def nodes_in(nodes: Any) -> list[Any]:
    every_node = []
    for node in nodes or []:
        every_node.append(node)
        inner = [*(getattr(node, "nodelist", None) or [])]
        if getattr(node, "nodeargd", None) is not None:
            inner += [each for each in node.nodeargd.argnlist or [] if each is not None]
        every_node += nodes_in(inner)
    return every_node


def parse_latex(text: str) -> list[Any]:
    walker = LatexWalker(text, tolerant_parsing=False)
    nodes, _, length = walker.get_latex_nodes()
    assert length == len(text)
    return nodes_in(nodes)


def test_it_parses_strictly_and_uses_only_what_it_names() -> None:
    nodes = parse_latex(LATEX)
    assert {node.macroname for node in nodes if isinstance(node, LatexMacroNode)} <= KNOWN
    names = [node.environmentname for node in nodes if isinstance(node, LatexEnvironmentNode)]
    assert names == ["table*", "tabular"], "with its harsh words it is too wide for one column"
    assert LATEX.splitlines()[0] == r"% \usepackage{booktabs,multirow}"


def test_every_line_of_the_table_has_as_many_columns_as_it_declares() -> None:
    assert r"\begin{tabular}{@{}llrrr@{}}" in LATEX
    body = [line for line in LATEX.splitlines() if line.endswith(r"\\")]
    assert [columns(line) for line in body] == [5, 5, 5, 5, 5]


def columns(line: str) -> int:
    """`\\multicolumn{2}` spans two; `\\&` is a letter."""
    spans = sum(int(part[0]) - 1 for part in line.split(r"\multicolumn{")[1:])
    return line.replace(r"\&", "").count("&") + 1 + spans


def test_words_that_go_on_stand_once_with_room_before_the_next() -> None:
    body = LATEX[LATEX.index(r"\midrule") : LATEX.index(r"\bottomrule")].splitlines()
    assert body == [
        r"\midrule",
        r"\multirow[t]{2}{*}{iid} & FedAvg & $\mathbf{91.00 \pm 1.41}$ & -- & $50.00$ \\",
        r" & FedProx ($\mu$ = 0.1) & $90.50 \pm 0.71^{\dagger}$ & never & -- \\",
        r"\addlinespace",
        r"shards & FedAvg & $0.50$ (n=1, 1 diverged) & -- & -- \\",
    ]
    assert r"\multicolumn{2}{c}{100\%\_\{A \& B\}" in LATEX
    assert r"\cmidrule(lr){3-4}" in LATEX


@pytest.mark.parametrize(
    ("text", "standing", "expected"),
    [
        ("95.75 ± 0.10", "", r"$95.75 \pm 0.10$"),
        ("-1.5", "best", r"$\mathbf{-1.5}$"),
        ("1,234.5 ± inf", "", r"$1{,}234.5 \pm \infty$"),
        ("not yet", "best", r"\textbf{not yet}"),
        ("3 / 1 / 0", "", "3 / 1 / 0"),
    ],
)
def test_numbers_are_mathematics_and_words_are_words(text: str, standing: str, expected: str) -> None:
    assert latex_value(text, standing) == expected


def test_every_special_letter_is_escaped() -> None:
    assert latex_escape("50 % & a_b") == r"50 \% \& a\_b"
    assert latex_escape("~^\\{}") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}\{\}"
    assert latex_escape("μ = 0.1 · α ≥ 3 – “x”") == r"$\mu$ = 0.1 $\cdot$ $\alpha$ $\ge$ 3 -- ``x''"


def test_an_address_can_be_broken_into_lines() -> None:
    assert latex_url("http://lab/a_b?x=1&y=%20") == (
        r"\texttt{http:/\allowbreak{}/\allowbreak{}lab/\allowbreak{}a\_b?\allowbreak{}x=\allowbreak{}1"
        r"\&\allowbreak{}y=\allowbreak{}\%20}"
    )


def test_rows_of_one_word_come_together_and_wide_tables_go_over_both_columns() -> None:
    rows = tuple(((word, number), (PaperField("1"),)) for word, number in (("b", "2"), ("a", "2"), ("b", "1")))
    table = PaperTable(("x", "y"), (("z",),), rows)
    assert [words for words, _ in table.grouped.rows] == [("b", "2"), ("b", "1"), ("a", "2")]
    assert table_fit(table) == ("table", r"\small")
    wide = PaperTable(
        ("x",), tuple((f"c{place}",) for place in range(6)), ((("a",), (PaperField("95.75 ± 0.10"),) * 6),)
    )
    assert table_fit(wide) == ("table*", r"\small"), "73 letters of 4.6 points and six gaps are more than 252 points"


def test_as_markdown() -> None:
    assert table_markdown(TABLE, "Caption.").splitlines()[1:4] == [
        "| --- | --- | ---: | ---: | ---: |",
        "| iid | FedAvg | **91.00 ± 1.41** | – | 50.00 |",
        "| iid | FedProx (μ = 0.1) | 90.50 ± 0.71 † | never | – |",
    ]


def test_as_numbers_a_row_for_each_field() -> None:
    rows = csv_text(table_numbers(TABLE)).splitlines()
    assert rows[0] == "partition,strategy,column 1,column 2,mean,std,n,text,standing,note"
    assert rows[1] == "iid,FedAvg,100%_{A & B} ~$x^2#\\,round 5,91.0,1.4142,2,91.00 ± 1.41,best,"
    assert len(rows) == 6
