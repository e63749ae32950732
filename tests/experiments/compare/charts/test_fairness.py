from __future__ import annotations

import math

import plotly.graph_objects as go
import pytest

from experiments.charts.styles import CellStyle, LineStyle
from experiments.compare.charts.fairness import (
    ClientSpread,
    fairness_description,
    fairness_figure,
    fairness_info,
    fairness_legend,
    fairness_table,
    worst_tenth,
)

STYLES = {
    "a": CellStyle(LineStyle("fedavg", 0, "solid"), "", ""),
    "b": CellStyle(LineStyle("fedprox", 1, "solid"), "", ""),
}
CLIENTS = {"a": [[0.5, 1.0], [0.25, 0.75, math.nan]]}


def test_the_worst_tenth_is_one_client_at_least() -> None:
    assert worst_tenth([0.5, 0.25, 0.75]) == 0.25
    # Eleven clients: the lowest two.
    assert worst_tenth([0.1, 0.3, *([1.0] * 9)]) == pytest.approx(0.2)


def test_clients_of_all_seeds_are_one_distribution_and_means_are_over_seeds() -> None:
    # Means 75 and 50, worst 50 and 25, population std 25 and 25.
    assert fairness_info(STYLES, CLIENTS) == (
        ClientSpread("fedavg", 0, "solid", 2, (25.0, 50.0, 75.0, 100.0), 62.5, 37.5, 25.0),
    )


def test_as_a_cumulative_curve_and_as_a_violin() -> None:
    spreads = fairness_info(STYLES, CLIENTS)
    (line,) = fairness_figure(spreads, "ecdf")["data"]
    assert (line["x"], line["y"]) == ([25.0, 50.0, 75.0, 100.0], [25.0, 50.0, 75.0, 100.0])
    (violin,) = go.Figure(fairness_figure(spreads, "violin")).data
    assert (violin.type, violin.y) == ("violin", (25.0, 50.0, 75.0, 100.0))


def test_each_setting_has_a_panel_and_the_legend_one_entry_for_all() -> None:
    avg = LineStyle("FedAvg", 0, "solid")
    styles = {name: CellStyle(avg, "", panel) for name, panel in (("a", "Digits · IID"), ("b", "UCI HAR · IID"))}
    spreads = fairness_info(styles, {"a": [[0.5]], "b": [[0.25], [0.75]]})
    assert [each.whole_label for each in spreads] == ["FedAvg · Digits · IID", "FedAvg · UCI HAR · IID"]
    figure = fairness_figure(spreads, "ecdf")
    assert [trace.get("xaxis", "x") for trace in figure["data"]] == ["x", "x2"]
    assert [words["text"] for words in figure["layout"]["annotations"]] == ["Digits · IID", "UCI HAR · IID"]
    assert fairness_figure(spreads, "violin", narrow=True)["layout"]["xaxis2"]["domain"] == [0.0, 1.0]
    assert fairness_legend(spreads) == [{"label": "FedAvg", "hue": 0, "dash": "solid", "n": "1–2"}]


def test_it_says_what_to_do_where_clients_were_not_evaluated() -> None:
    assert fairness_info(STYLES, {"b": [[math.nan]]}) == ()
    assert "evaluation: {on: clients}" in fairness_description(())
    assert "worst tenth 37.50" in fairness_description(fairness_info(STYLES, CLIENTS))
    assert fairness_table(fairness_info(STYLES, CLIENTS)).rows[0] == ("fedavg", 0.25)
