from __future__ import annotations

from experiments.charts.styles import CellStyle, LineStyle
from experiments.compare.charts.bars import (
    Bar,
    bars_description,
    bars_figure,
    bars_info,
    bars_notes,
    bars_table,
    stacked_bars_info,
)
from experiments.labels.metrics import MetricLabel, metric_label
from experiments.statistics.over_seeds import Sample

STYLES = {
    "a": CellStyle(LineStyle("fedavg", 0, "solid"), "", "iid"),
    "b": CellStyle(LineStyle("athena", 5, "solid"), "", "iid"),
    "c": CellStyle(LineStyle("waits", 1, "solid"), "", "iid"),
}
MEGABYTES = MetricLabel("bytes", "Traffic", "MB", 1e-6, 2)


def test_each_cell_has_a_bar_in_its_own_hue() -> None:
    samples = {"a": Sample({0: 0.5, 1: 0.75}), "b": Sample({0: 0.25})}
    info = bars_info(STYLES, samples, metric_label("accuracy"))
    figure = bars_figure(info)

    assert info.parts[0].bars[1] == Bar("athena · iid", 25.0, None, 1)
    assert [(trace["meta"]["hue"], trace["y"], trace["x"]) for trace in figure["data"]] == [
        (0, ["fedavg · iid"], [62.5]),
        (5, ["athena · iid"], [25.0]),
    ]
    assert figure["layout"]["yaxis"]["categoryarray"] == ["athena · iid", "fedavg · iid"]  # the first at the top
    assert bars_notes(info) == "Whiskers: mean ± std over seeds"
    assert bars_table(info).rows[1] == ("athena · iid", "Test accuracy", 0.25, None, 1, 0, 0)


def test_parts_are_stacked_and_those_that_never_were_are_left_out() -> None:
    parts = {
        "Upload": {"a": Sample({0: 2e6, 1: 4e6})},
        "Peer": {"a": Sample({0: 0.0})},
        "Download": {"a": Sample({0: 5e6})},
    }
    info = stacked_bars_info({"a": STYLES["a"]}, parts, MEGABYTES)

    assert [(part.label, part.hue, part.bars[0].mean) for part in info.parts] == [
        ("Upload", 0, 3.0),
        ("Download", 2, 5.0),
    ]
    assert bars_description(info) == "Traffic, MB. Upload of fedavg · iid: 3.00; Download of fedavg · iid: 5.00."


def test_long_names_are_broken_between_their_parts() -> None:
    name = "athena · logistic · classes-per-client · k 5"
    info = bars_info(
        {"a": CellStyle(LineStyle(name, 0, "solid"), "", "")}, {"a": Sample({0: 0.5})}, metric_label("accuracy")
    )
    wide, narrow = (bars_figure(info, narrow=narrow)["layout"] for narrow in (False, True))

    assert wide["yaxis"]["ticktext"] == [name]
    assert narrow["yaxis"]["ticktext"] == ["athena · logistic<br>classes-per-client<br>k 5"]
    assert (wide["height"], narrow["height"]) == (26 + 80, 3 * 15 + 6 + 80)


def test_nothing_measured_is_said() -> None:
    info = bars_info(STYLES, {}, MEGABYTES)
    assert info.parts == ()
    assert bars_description(info) == "Traffic: no finished run has it yet."
