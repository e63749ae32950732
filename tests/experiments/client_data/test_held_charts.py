from __future__ import annotations

from experiments.client_data.charts import held_description, held_figure, held_info


def test_few_numbers_have_a_bar_each() -> None:
    info = held_info([2, 3, 3, 5], "classes")
    assert (info.names, info.clients) == (("2", "3", "4", "5"), (1, 2, 0, 1))
    assert held_figure(info)["data"][0]["y"] == [1, 2, 0, 1]
    assert held_description(info) == "Histogram of 4 clients by the number of classes they hold; most, 2, hold 3."


def test_many_numbers_are_put_into_spans_of_round_width() -> None:
    info = held_info([3, 19, 20, 21, 390], "samples")
    assert info.names[:2] == ("0–19", "20–39")
    assert (info.clients[:2], sum(info.clients), len(info.names)) == ((2, 2), 5, 20)
