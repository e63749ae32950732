"""Figures for papers: told apart without colour, error bars beside each other, letters that stay letters."""

from __future__ import annotations

import re
import zlib
from io import BytesIO
from typing import Any
from xml.dom import minidom

import pytest
from django.http import QueryDict
from django.test import Client
from PIL import Image

from experiments.models import Study
from experiments.papers.drawing.appearance import DASHES, appearances, look_key
from experiments.papers.drawing.figure import draw_figure, in_two_lines, x_margin
from experiments.papers.drawing.traces import dodges, stack_traces
from experiments.papers.figure_style import FigureStyle, figure_style

STYLE = FigureStyle()


def line(label: str, hue: int, dash: str = "solid", **more: Any) -> dict[str, Any]:
    plain = {"type": "scatter", "mode": "lines+markers", "name": label, "legendgroup": label, "x": [0, 1], "y": [1, 2]}
    return {**plain, "line": {"dash": dash}, "meta": {"hue": hue}, **more}


def with_bars(label: str, hue: int) -> dict[str, Any]:
    return line(label, hue, error_y={"array": [0.5, 0.5], "visible": True})


def figure_of(*traces: dict[str, Any], **layout: Any) -> dict[str, Any]:
    axes = {"xaxis": {"title": {"text": "Round"}}, "yaxis": {"title": {"text": "Test accuracy, % of $"}}}
    return {"data": list(traces), "layout": {**axes, **layout}}


LEGEND = [{"label": "FedAvg", "hue": 0, "dash": "solid", "n": 3}, {"label": "FedProx (μ = 0.1)", "hue": 1, "n": 3}]
FIGURE = figure_of(line("FedAvg", 0), line("FedProx (μ = 0.1)", 1))


def test_lines_of_one_dash_get_different_dashes_and_markers() -> None:
    looks = appearances([line("a", 0), line("b", 4)], "grey")
    first, second = looks[look_key("a", 0)], looks[look_key("b", 4)]
    assert (first.dash, first.marker, first.colour) == (DASHES["solid"], "o", "#000000")
    assert (second.dash, second.marker, second.colour) == (DASHES["dash"], "s", "#6f6f6f")


def test_dashes_that_mean_something_stay() -> None:
    looks = appearances([line("a", 0, "dot"), line("b", 0, "dash"), line("c", 1, "dot")], "colour")
    assert [(look.dash, look.marker) for look in looks.values()] == [
        (DASHES["dot"], "o"),
        (DASHES["dash"], "o"),
        (DASHES["dot"], "s"),
    ]


def test_error_bars_stand_beside_each_other_with_what_belongs_to_them() -> None:
    """Three lines, 3.2 points apart; two places in 216 points leave room enough."""
    traces = [with_bars("a", 0), with_bars("b", 1), with_bars("c", 2), line("b", 1, mode="markers")]
    assert dodges(traces, 216) == [-3.2, 0.0, 3.2, 0.0]
    assert dodges(traces[1:], 216) == [-1.6, 1.6, -1.6]


def test_error_bars_stay_clear_of_the_next_place() -> None:
    """Two lines at 2 places of 6 points each: 0.7 x 6 / 2 = 2.1 points between them; measured places never move."""
    assert dodges([with_bars("a", 0), with_bars("b", 1)], 12) == [-1.05, 1.05]
    assert dodges([{**with_bars("a", 0), "mode": "markers"}, {**with_bars("b", 1), "mode": "markers"}], 12) == [
        0.0,
        0.0,
    ]


def test_what_is_moved_aside_stays_inside_its_panel() -> None:
    # 9 points aside and 4 for the marker, of 100: 0.13 of the panel on each side is 0.13 / 0.74 of the data's range.
    assert x_margin(9, 100) == pytest.approx(0.175676, abs=1e-6)
    assert x_margin(0, 100) == x_margin(1, 500) == 0.05


def test_a_long_label_is_broken_in_its_middle() -> None:
    assert in_two_lines("Test accuracy at the last round, %") == "Test accuracy at\nthe last round, %"
    assert in_two_lines("Loss") == "Loss"


def test_bars_and_stacked_lines_begin_where_the_one_before_ends() -> None:
    bars = [{"type": "bar", "orientation": "h", "y": ["x", "y"], "x": [1, 2]} for _ in range(2)]
    areas = [line("a", 0, stackgroup="all"), line("b", 1, stackgroup="all")]
    stacked = stack_traces([*bars, *areas])
    assert [trace.get("starts") for trace in stacked] == [[0.0, 0.0], [1.0, 2.0], None, None]
    assert [trace["y"] for trace in stacked[2:]] == [[1.0, 2.0], [2.0, 4.0]]


def test_choices_come_from_the_address_and_stay_sensible() -> None:
    assert figure_style(QueryDict("")) == FigureStyle(88.9, 8.0, "serif", "colour")
    chosen = figure_style(QueryDict("paper_width=text&paper_size=9&paper_font=modern&paper_ink=grey"))
    assert chosen == FigureStyle(181.9, 9.0, "modern", "grey")
    assert (chosen.spans_columns, FigureStyle().spans_columns) == (True, False)
    odd = figure_style(QueryDict("paper_width=9999&paper_size=nan&paper_font=wingdings"))
    assert odd == FigureStyle(300.0, 8.0, "serif", "colour")


def pdf_parts(content: bytes) -> str:
    """Everything in the file in readable form: objects, and the streams that unpack."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    texts = [content.decode("latin1")]
    for stream in streams:
        try:
            texts.append(zlib.decompress(stream).decode("latin1"))
        except zlib.error:
            continue
    return "\n".join(texts)


def test_a_pdf_has_the_width_asked_for_and_its_fonts_and_letters_inside() -> None:
    content = draw_figure(FIGURE, LEGEND, STYLE, "pdf", "What it shows")
    text = pdf_parts(content)
    assert content.startswith(b"%PDF-")
    assert re.search(r"/MediaBox \[ ?0 0 252(\.0\d*)? ", text), "88.9 mm are 252 points"
    assert "/FontFile2" in text
    assert "/Subtype /Type3" not in text
    assert "/ToUnicode" in text
    assert "(What it shows)" in text
    assert draw_figure(FIGURE, LEGEND, STYLE, "pdf", "What it shows") == content


def test_an_svg_keeps_its_letters_and_a_dollar_sign_is_one() -> None:
    text = draw_figure(FIGURE, LEGEND, STYLE, "svg", "What it shows").decode()
    for word in ("FedProx (μ = 0.1)", "Test accuracy, % of $", "Round", "What it shows"):
        assert f">{word}</" in text


def test_a_png_has_300_dots_an_inch() -> None:
    picture = Image.open(BytesIO(draw_figure(FIGURE, LEGEND, FigureStyle(width=101.6), "png")))
    assert picture.width == 1200
    assert tuple(map(round, picture.info["dpi"])) == (300, 300)


HEAT = {
    "type": "heatmap",
    "x": ["a", "b"],
    "y": ["c", "d"],
    "z": [[0.1, None], [0.3, 0.4]],
    "texttemplate": "%{z:.1f}",
    "meta": {"hue": 0, "heat": True, "scale": True, "title": "%"},
}
VIOLIN = {"type": "violin", "name": "FedAvg", "legendgroup": "FedAvg", "y": [1.0, 2.0, 2.5], "meta": {"hue": 0}}
BAR = {
    "type": "bar",
    "orientation": "h",
    "name": "up",
    "legendgroup": "up",
    "x": [1.0],
    "y": ["FedAvg"],
    "meta": {"hue": 0},
}
BAND = line("FedAvg", 0, fill="toself", mode="lines", x=[0, 1, None, 1, 2], y=[1, 2, None, 1, 2])
PANELS = {
    "xaxis2": {"matches": "x", "domain": [0.5, 1]},
    "yaxis2": {"matches": "y", "showticklabels": False},
    "annotations": [{"text": "A<br>B", "xref": "paper", "yref": "paper", "x": 0.75, "y": 1}],
    "shapes": [{"type": "line", "xref": "x domain", "yref": "y", "x0": 0, "x1": 1, "y0": 1, "y1": 1}],
}


@pytest.mark.parametrize(
    "figure",
    [
        figure_of(HEAT, xaxis={"type": "category"}, yaxis={"type": "category", "autorange": "reversed"}),
        figure_of(VIOLIN, xaxis={"type": "category"}),
        figure_of(BAR, yaxis={"type": "category", "categoryarray": ["FedAvg"]}),
        figure_of(BAND, line("FedAvg", 0), xaxis={"type": "log", "tickvals": [1, 2], "ticktext": ["1", "2"]}),
        figure_of(line("FedAvg", 0), line("FedAvg", 0, xaxis="x2", yaxis="y2"), **PANELS),
        figure_of(line("FedAvg", 0, error_x={"array": [1.0, 1.0]}, y=["iid", "shards"], x=[None, 2])),
    ],
    ids=["heat", "violin", "bar", "band and log", "panels", "words up"],
)
def test_every_kind_of_trace_is_drawn(figure: dict[str, Any]) -> None:
    assert b"</svg>" in draw_figure(figure, [], STYLE, "svg")


def test_a_chart_is_downloaded_as_figure_and_as_environment(as_owner: Client, study: Study) -> None:
    answer = as_owner.get("/compare/charts/curves.pdf", {"study": study.pk})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="compare-curves.pdf"'
    assert answer.content.startswith(b"%PDF-")
    latex = as_owner.get("/compare/charts/curves.tex", {"study": study.pk, "paper_width": "text"}).content.decode()
    assert r"\begin{figure*}" in latex
    assert r"\includegraphics{compare-curves}" in latex
    assert "n = 1 to 3 seeds." in latex
    assert "Data: Digits" in latex
    assert rf"study=\allowbreak{{}}{study.pk}}}" in latex, "the page, without how the file looks"


def test_what_cannot_be_drawn_is_not_found(as_owner: Client, study: Study) -> None:
    for address in ("charts/curves.gif", "charts/map.pdf", "tables/values.pdf", "tables/nothing.md"):
        assert as_owner.get(f"/compare/{address}", {"study": study.pk}).status_code == 404


def test_charts_of_studies_and_runs_have_files_too(as_owner: Client, study: Study) -> None:
    rows = as_owner.get(f"/studies/{study.pk}/figure.csv").content.decode().splitlines()
    assert rows[:2] == ["line,round,mean,low,high,n", "FedAvg,0,0.1,0.1,0.1,3"]
    run = study.runs.filter(state="done").first()
    assert run is not None
    assert "round,mean" in as_owner.get(f"/runs/{run.pk}/figure.csv").content.decode()
    assert r"\includegraphics{run-" in as_owner.get(f"/runs/{run.pk}/costs/figure.tex").content.decode()
    assert as_owner.get(f"/runs/{run.pk}/nothing/figure.pdf").status_code == 404


@pytest.mark.parametrize("font", ["serif", "modern", "sans"])
def test_a_name_with_control_characters_leaves_the_svg_readable(font: str) -> None:
    odd = "a\x01b\x1b[31m\x85\uffff"
    figure = figure_of(line(odd, 0), line("$\\frac{1}{0$", 1), yaxis={"title": {"text": odd}})
    legend = [{"label": odd, "hue": 0, "n": 3}, {"label": "$\\frac{1}{0$", "hue": 1, "n": 3}]
    svg = draw_figure(figure, legend, FigureStyle(font=font), "svg", odd).decode()
    text = "".join(minidom.parseString(svg).toxml())
    assert "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31m" in text
    assert "$\\frac{1}{0$" in text
