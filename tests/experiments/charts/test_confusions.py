from __future__ import annotations

import plotly.graph_objects as go

from experiments.charts.confusion import confusions_figure, confusions_table, summed

NAMES = ("cat", "dog")


def test_seeds_of_a_cell_are_added_up() -> None:
    info = summed([[[3, 1], [0, 4]], [[1, 3], [4, 0]]], NAMES)
    assert info is not None
    assert info.counts == ((4, 4), (4, 4))
    assert info.accuracy == 0.5
    assert summed([], NAMES) is None
    assert summed([[[1]], [[1, 0], [0, 1]]], NAMES) is None


def test_matrices_stand_side_by_side_with_their_accuracy_above() -> None:
    infos = {
        label: summed([matrix], NAMES)
        for label, matrix in (("fedavg", [[3, 1], [0, 4]]), ("fedprox", [[4, 0], [0, 4]]))
    }
    figure = confusions_figure({label: info for label, info in infos.items() if info})
    assert [words["text"] for words in figure["layout"]["annotations"]] == [
        "fedavg<br>87.5% right",
        "fedprox<br>100.0% right",
    ]
    assert [trace.get("xaxis", "x") for trace in figure["data"]] == ["x", "x2"]
    assert len(go.Figure(figure).data) == 2
    assert confusions_figure({})["data"] == []


def test_as_rows() -> None:
    info = summed([[[3, 1], [0, 4]]], NAMES)
    assert info is not None
    assert confusions_table({"fedavg": info}).rows[1] == ("fedavg", "cat", "dog", 1, 0.25)
