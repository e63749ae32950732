from __future__ import annotations

import plotly.graph_objects as go
import pytest

from experiments.charts.styles import CellStyle, LineStyle
from experiments.compare.charts.cost import (
    on_front,
    pareto_description,
    pareto_figure,
    pareto_info,
    pareto_legend,
    pareto_notes,
    pareto_table,
)
from experiments.compare.charts.curves import X_AXES
from experiments.labels.metrics import metric_label
from experiments.statistics.over_seeds import Sample

STYLES = {
    name: CellStyle(LineStyle(f"{strategy} · {partition}", hue, "solid"), "", "", strategy)
    for name, strategy, hue, partition in (
        ("a", "fedavg", 0, "iid"),
        ("b", "fedavg", 0, "x"),
        ("c", "scaffold", 2, "iid"),
    )
}
VALUES = {"a": Sample({0: 0.8, 1: 0.9}), "b": Sample({0: 0.7}), "c": Sample({0: 0.95})}
COSTS = {"a": Sample({0: 2e6, 1: 2e6}), "b": Sample({0: 3e6}), "c": Sample({0: 5e6}), "d": Sample({0: 1.0})}
ACCURACY = metric_label("accuracy")


def test_the_front_is_whoever_nobody_beats_on_both() -> None:
    assert on_front([(2, 85), (3, 70), (5, 95), (2, 80), (5, 95)]) == [True, False, True, False, True]
    assert on_front([]) == []


def test_means_over_seeds_in_shown_units() -> None:
    info = pareto_info(STYLES, VALUES, COSTS, ACCURACY, X_AXES["bytes"])
    assert [(p.label, p.cost, p.value, p.n, p.front) for p in info.points] == [
        ("fedavg · iid", 2.0, pytest.approx(85.0), 2, True),
        ("fedavg · x", 3.0, 70.0, 1, False),
        ("scaffold · iid", 5.0, 95.0, 1, True),
    ]
    assert [p.std for p in info.points] == [pytest.approx(7.0710678), None, None]


def test_lower_is_better_for_a_loss() -> None:
    info = pareto_info(STYLES, VALUES, COSTS, metric_label("loss"), X_AXES["bytes"])
    assert [p.front for p in info.points] == [True, True, False]


def test_one_legend_entry_per_colour_and_diamonds_on_the_front() -> None:
    info = pareto_info(STYLES, VALUES, COSTS, ACCURACY, X_AXES["bytes"])
    assert [entry["text"] for entry in pareto_legend(info)] == ["fedavg · 2 cells", "scaffold · 1 cell"]
    front, first, _ = pareto_figure(info)["data"]
    assert (front["x"], front["y"]) == ([2.0, 5.0], [pytest.approx(85.0), 95.0])
    assert first["marker"]["symbol"] == ["diamond", "circle-open"]
    assert len(go.Figure(pareto_figure(info)).data) == 3


def test_each_data_set_has_a_panel_and_a_front_of_its_own() -> None:
    styles = {
        cell: CellStyle(LineStyle(strategy, hue, "solid"), "", name, strategy)
        for cell, strategy, hue, name in (
            ("a", "FedAvg", 0, "Digits"),
            ("b", "FedAvg", 0, "UCI HAR"),
            ("c", "SCAFFOLD", 2, "Digits"),
        )
    }
    info = pareto_info(styles, VALUES, COSTS, ACCURACY, X_AXES["bytes"])
    # In one panel the second would be behind the first, which has more for less.
    assert [(p.label, p.front) for p in info.points] == [
        ("FedAvg · Digits", True),
        ("FedAvg · UCI HAR", True),
        ("SCAFFOLD · Digits", True),
    ]
    figure = pareto_figure(info)
    assert [(trace.get("name"), trace.get("xaxis", "x")) for trace in figure["data"]] == [
        (None, "x"),
        ("FedAvg", "x"),
        ("SCAFFOLD", "x"),
        ("FedAvg", "x2"),
    ]
    # Digits cost 2 to 5 MB, the other data set 3: neither says anything of the other's range.
    assert "matches" not in figure["layout"]["xaxis2"]
    assert figure["layout"]["yaxis2"]["matches"] == "y"
    assert pareto_notes(info).startswith(
        "◆ Pareto front of each data set (no other cell has more for less): FedAvg · Di"
    )


def test_it_names_the_front() -> None:
    info = pareto_info(STYLES, VALUES, COSTS, ACCURACY, X_AXES["bytes"])
    assert pareto_description(info) == (
        "Test accuracy, %, against bytes sent by anyone, MB, of 3 cells. Pareto front: "
        "fedavg · iid: 85.00 for 2 MB · n=2; scaffold · iid: 95.00 for 5 MB · n=1."
    )
    assert "fedavg · iid, scaffold · iid" in pareto_notes(info)
    assert pareto_table(info).rows[2] == ("scaffold · iid", 5e6, 0.95, None, 1, True, 0, 0)
    assert "no finished run" in pareto_description(pareto_info(STYLES, {}, {}, ACCURACY, X_AXES["bytes"]))
