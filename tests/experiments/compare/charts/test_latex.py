"""LaTeX through a strict parser: every brace, environment and formula closed, no macro that booktabs does not bring."""

from __future__ import annotations

from typing import Any

from pylatexenc.latexwalker import LatexEnvironmentNode, LatexMacroNode, LatexWalker

from experiments.compare.charts.pivot_table import latex_escape, pivot_latex, pivot_table
from experiments.compare.charts.values import ValueChoice, value_label
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample

KNOWN = {
    *("usepackage", "centering", "caption", "toprule", "midrule", "bottomrule", "cmidrule", "multicolumn", "\\"),
    *("mathbf", "pm", "dagger", "cdot", "textbackslash", "textasciitilde", "textasciicircum"),
    *("&", "%", "$", "#", "_", "{", "}"),
}
AXES = {
    "strategy": {"a": "fedavg", "b": "fedprox · mu 0.1", "c": "fedavg", "d": "fedprox · mu 0.1"},
    "dataset": {"a": "100%_{A & B} ~$x^2#\\", "b": "100%_{A & B} ~$x^2#\\", "c": "uci-har", "d": "uci-har"},
}
VALUES = {
    ("a", 0): Sample({0: 0.9, 1: 0.92}),
    ("b", 0): Sample({0: 0.91, 1: 0.9}),
    ("c", 0): Sample({0: 0.5}),
}


LAST = ValueChoice()


def latex(choice: ValueChoice = LAST, values: Any = VALUES, **options: Any) -> str:
    label = value_label(metric_label("accuracy"), choice)
    return pivot_latex(pivot_table("abcd", AXES, values, label, choice, **{"compared": "strategy", **options}))


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


def test_it_parses_strictly_and_uses_only_what_booktabs_brings() -> None:
    for text in (
        latex(),
        latex(across=["dataset", "strategy"]),
        latex(ValueChoice("at", at=(5, 10)), {("a", 5): Sample({0: 1.0})}),
    ):
        nodes = parse_latex(text)
        assert {node.macroname for node in nodes if isinstance(node, LatexMacroNode)} <= KNOWN
        names = [node.environmentname for node in nodes if isinstance(node, LatexEnvironmentNode)]
        assert names == ["table", "tabular"]


def test_every_line_of_the_table_has_as_many_columns_as_it_declares() -> None:
    text = latex(across=["dataset", "strategy"])
    assert r"\begin{tabular}{lrrrr}" in text
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [columns(line) for line in body] == [5, 5, 5]


def columns(line: str) -> int:
    """`\\multicolumn{2}` spans two; `\\&` is a letter."""
    spans = sum(int(part[0]) - 1 for part in line.split(r"\multicolumn{")[1:])
    return line.replace(r"\&", "").count("&") + 1 + spans


def test_the_best_is_bold_a_tie_has_a_dagger_and_one_seed_has_no_spread() -> None:
    text = latex()
    assert r"fedavg & $\mathbf{91.00 \pm 1.41}$ & $50.00$ \\" in text
    assert r"fedprox $\cdot$ mu 0.1 & $90.50 \pm 0.71^{\dagger}$ & -- \\" in text


def test_every_special_letter_is_escaped() -> None:
    assert latex_escape("50 % & a_b") == r"50 \% \& a\_b"
    assert latex_escape("~^\\{}") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}\{\}"
