from __future__ import annotations

import plotly.graph_objects as go
import pytest

from experiments.charts.styles import CellStyle, LineStyle
from experiments.compare.charts.against import (
    AgainstLine,
    AgainstPoint,
    against_description,
    against_figure,
    against_info,
    against_legend,
    against_notes,
    against_table,
)
from experiments.compare.charts.heat_map import HeatInfo, heat_description, heat_figure, heat_info, heat_table
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample

ACCURACY = metric_label("accuracy")
AVG, PROX = CellStyle(LineStyle("fedavg", 0, "solid"), "", ""), CellStyle(LineStyle("fedprox", 1, "solid"), "", "")
STYLES = {"a": AVG, "b": AVG, "c": PROX, "d": PROX}
RATIO = {"a": 0.5, "b": 0.0, "c": 0.0, "d": 0.5}
SAMPLES = {
    "a": Sample({0: 0.75, 1: 0.25}),
    "b": Sample({0: 0.25}),
    "c": Sample({}, frozenset({0, 1})),
    "d": Sample({0: 1.0}),
}


def test_lines_go_along_the_axis_with_the_spread_over_seeds() -> None:
    info = against_info(STYLES, RATIO, SAMPLES, ACCURACY, axis="hybrid.ratio", band="range")
    assert info.lines == (
        AgainstLine("fedavg", 0, "solid", (AgainstPoint(0.0, 25.0, 1, None), AgainstPoint(0.5, 50.0, 2, (25.0, 75.0)))),
        AgainstLine("fedprox", 1, "solid", (AgainstPoint(0.5, 100.0, 1, None),)),
    )
    assert [entry["n"] for entry in against_legend(info)] == ["1–2", "1"]


def test_its_figure_has_bars_that_need_not_be_symmetric() -> None:
    info = against_info(STYLES, RATIO, SAMPLES, ACCURACY, axis="hybrid.ratio", band="range")
    figure = against_figure(info)
    bars = figure["data"][0]["error_y"]
    assert (bars["array"], bars["arrayminus"]) == ([0, 25.0], [0, 25.0])
    assert figure["layout"]["xaxis"] == {"title": {"text": "Hybrid ratio"}}
    assert [trace.name for trace in go.Figure(figure).data] == ["fedavg", "fedprox"]


def test_data_sets_have_a_panel_each_with_the_ranges_of_the_first() -> None:
    digits, har = (CellStyle(LineStyle("FedAvg", 0, "solid"), "", name) for name in ("Digits", "UCI HAR"))
    styles = {"a": digits, "b": digits, "d": har}
    info = against_info(styles, RATIO, SAMPLES, ACCURACY, axis="hybrid.ratio", band="none")
    assert info.lines == (
        AgainstLine(
            *("FedAvg", 0, "solid", (AgainstPoint(0.0, 25.0, 1, None), AgainstPoint(0.5, 50.0, 2, None)), "Digits")
        ),
        AgainstLine("FedAvg", 0, "solid", (AgainstPoint(0.5, 100.0, 1, None),), "UCI HAR"),
    )
    figure = against_figure(info)
    assert [trace.get("xaxis", "x") for trace in figure["data"]] == ["x", "x2"]
    assert [words["text"] for words in figure["layout"]["annotations"]] == ["Digits", "UCI HAR"]
    assert figure["layout"]["xaxis2"]["matches"] == "x"
    assert figure["layout"]["yaxis2"]["matches"] == "y"
    assert against_legend(info) == [{"label": "FedAvg", "hue": 0, "dash": "solid", "n": "1–2"}]
    assert [row[:2] for row in against_table(info).rows] == [
        ("FedAvg · Digits", 0.0),
        ("FedAvg · Digits", 0.5),
        ("FedAvg · UCI HAR", 0.5),
    ]
    assert "FedAvg · UCI HAR: 100.00 at 0.5." in against_description(info)


def test_on_a_narrow_screen_its_panels_stand_below_each_other() -> None:
    styles = {cell: CellStyle(LineStyle("FedAvg", 0, "solid"), "", name) for cell, name in (("b", "one"), ("d", "two"))}
    info = against_info(styles, RATIO, SAMPLES, ACCURACY, axis="hybrid.ratio", narrow=True)
    layout = against_figure(info)["layout"]
    assert layout["xaxis"]["domain"] == layout["xaxis2"]["domain"] == [0.0, 1.0]
    assert layout["height"] == 624


def test_words_on_the_axis_stay_in_the_order_of_the_grid() -> None:
    on_axis = {"a": "uci-har", "b": "digits", "c": "digits", "d": "uci-har"}
    info = against_info(STYLES, on_axis, SAMPLES, ACCURACY, axis="dataset")
    assert [point.x for point in info.lines[0].points] == ["uci-har", "digits"]
    assert against_figure(info)["layout"]["xaxis"]["type"] == "category"


def test_numbers_over_decades_have_a_logarithmic_axis() -> None:
    alphas = {"a": 0.1, "b": 0.5, "c": 5.0}
    samples = dict.fromkeys("abc", Sample({0: 0.5}))
    info = against_info(dict.fromkeys("abc", AVG), alphas, samples, ACCURACY, axis="partition.alpha")
    axis = against_figure(info)["layout"]["xaxis"]
    assert (axis["type"], axis["tickvals"], axis["ticktext"]) == ("log", [0.1, 0.5, 5.0], ["0.1", "0.5", "5"])


def test_bootstrap_bars_by_hand() -> None:
    info = against_info({"a": AVG}, RATIO, SAMPLES, ACCURACY, axis="hybrid.ratio", band="boot")
    assert info.lines[0].points[0].band == (25.0, 75.0)


def test_it_tells_what_it_shows_and_what_it_cannot() -> None:
    info = against_info(STYLES, RATIO, SAMPLES, ACCURACY, axis="hybrid.ratio", cells_without=3)
    assert against_description(info) == (
        "Test accuracy, %, against hybrid ratio. fedavg: 25.00 at 0, 50.00 at 0.5; fedprox: 100.00 at 0.5."
    )
    assert against_notes(info) == (
        "Bars: mean ± std over seeds · 2 seeds diverged (not finite): not in the means · 3 cells have no hybrid ratio"
    )
    assert against_table(info).rows[1] == (
        "fedavg",
        0.5,
        0.5,
        pytest.approx(0.5 - 0.3535534),
        pytest.approx(0.8535534),
        2,
        0,
        0,
    )
    empty = against_info({}, {}, {}, ACCURACY, axis="clients")
    assert "no finished run" in against_description(empty)


def test_a_map_has_a_panel_for_each_combination_of_the_rest() -> None:
    rest = {"a": "fedavg", "b": "fedavg", "c": "fedprox", "d": "fedprox"}
    info = heat_info(rest, RATIO, {"a": 5, "b": 10, "c": 5, "d": 10}, SAMPLES, ACCURACY, ("hybrid.ratio", "clients"))
    assert info == HeatInfo(
        ACCURACY,
        "hybrid.ratio",
        "clients",
        ("0", "0.5"),
        ("5", "10"),
        (
            ("fedavg", ((None, SAMPLES["a"]), (SAMPLES["b"], None))),
            ("fedprox", ((SAMPLES["c"], None), (None, SAMPLES["d"]))),
        ),
    )
    figure = heat_figure(info)
    assert [(trace["zmin"], trace["zmax"], trace["meta"]["scale"]) for trace in figure["data"]] == [
        (25.0, 100.0, False),
        (25.0, 100.0, True),
    ]
    assert len(go.Figure(figure).data) == 2
    assert heat_description(info) == (
        "Test accuracy, %, over hybrid ratio and clients. fedavg: from 25.00 to 50.00; fedprox: from 100.00 to 100.00."
    )
    assert heat_table(info).rows == (
        ("fedavg", "0.5", "5", 0.5, 2, 0, 0),
        ("fedavg", "0", "10", 0.25, 1, 0, 0),
        ("fedprox", "0", "5", None, 0, 2, 0),
        ("fedprox", "0.5", "10", 1.0, 1, 0, 0),
    )


def test_numbers_are_ordered_as_numbers() -> None:
    rest = dict.fromkeys("abc", "")
    info = heat_info(rest, {"a": 10, "b": 9, "c": 100}, dict.fromkeys("abc", "x"), {}, ACCURACY, ("clients", "dataset"))
    assert info.x == ("9", "10", "100")
    assert heat_figure(info)["data"] == []
