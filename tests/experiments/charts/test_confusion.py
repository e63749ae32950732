from __future__ import annotations

import plotly.graph_objects as go

from experiments.charts.confusion import (
    Confusion,
    ConfusionInfo,
    confusion_description,
    confusion_figure,
    confusion_info,
    confusions_figure,
    confusions_table,
    sum_confusions,
)

NAMES = ("cat", "dog", "owl")
MATRIX = [[6, 2, 0], [1, 3, 0], [0, 4, 4]]


def test_it_shows_counts_shares_of_the_true_class_and_the_worst_confusions() -> None:
    assert confusion_info(MATRIX, NAMES) == ConfusionInfo(
        NAMES,
        ((6, 2, 0), (1, 3, 0), (0, 4, 4)),
        ((0.75, 0.25, 0.0), (0.25, 0.75, 0.0), (0.0, 0.5, 0.5)),
        0.65,
        (Confusion("owl", "dog", 4, 0.5), Confusion("cat", "dog", 2, 0.25), Confusion("dog", "cat", 1, 0.25)),
    )


def test_a_class_without_samples_has_no_shares() -> None:
    info = confusion_info([[0, 0], [0, 5]], ("a", "b"))
    assert (info.shares, info.accuracy, info.worst) == (((0.0, 0.0), (0.0, 1.0)), 1.0, ())
    assert confusion_info([[0]], ("a",)).accuracy is None


def test_true_classes_go_down_and_what_the_model_said_goes_right() -> None:
    figure = confusion_figure(confusion_info(MATRIX, NAMES))
    heat = figure["data"][0]
    assert heat["z"][2] == [0.0, 0.5, 0.5]
    assert heat["text"] == [["6", "2", ""], ["1", "3", ""], ["", "4", "4"]]
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"
    go.Figure(figure)


def test_many_classes_have_no_numbers_in_their_cells() -> None:
    names = tuple(map(str, range(20)))
    assert "text" not in confusion_figure(confusion_info([[1] * 20] * 20, names))["data"][0]


def test_it_is_told_in_words() -> None:
    assert confusion_description(confusion_info(MATRIX, NAMES)) == (
        "Confusion matrix of 3 classes over 20 samples, 65.00% right. Commonest confusions: owl taken for dog 4 times; "
        "cat taken for dog 2 times; dog taken for cat 1 times."
    )


TWO_NAMES = ("cat", "dog")


def test_seeds_of_a_cell_are_added_up() -> None:
    info = sum_confusions([[[3, 1], [0, 4]], [[1, 3], [4, 0]]], TWO_NAMES)
    assert info is not None
    assert info.counts == ((4, 4), (4, 4))
    assert info.accuracy == 0.5
    assert sum_confusions([], TWO_NAMES) is None
    assert sum_confusions([[[1]], [[1, 0], [0, 1]]], TWO_NAMES) is None


def test_matrices_stand_side_by_side_with_their_accuracy_above() -> None:
    infos = {
        label: sum_confusions([matrix], TWO_NAMES)
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
    info = sum_confusions([[[3, 1], [0, 4]]], TWO_NAMES)
    assert info is not None
    assert confusions_table({"fedavg": info}).rows[1] == ("fedavg", "cat", "dog", 1, 0.25)
