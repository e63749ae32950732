from __future__ import annotations

import math

import plotly.graph_objects as go

from experiments.results.charts.clients import (
    clients_description,
    clients_figure,
    clients_info,
    clients_legend,
    clients_notes,
    evenly_spaced,
    rounds_to_draw,
)

HISTORY = {-1: {1: 0.5, 2: 0.625}, 3: {2: 0.25}}


def test_many_are_thinned_at_even_distances_with_first_and_last() -> None:
    assert evenly_spaced(range(5), 10) == [0, 1, 2, 3, 4]
    assert evenly_spaced(range(101), 5) == [0, 25, 50, 75, 100]


def test_rounds_are_chosen_among_those_that_tell_the_number() -> None:
    assert rounds_to_draw("accuracy", 25, 10) == [0, 10, 20, 25]
    assert rounds_to_draw("train_loss", 3, 10) == [1, 2, 3]
    assert rounds_to_draw("samples", 0, 1) == []
    assert set(rounds_to_draw("loss", 10_000, 10)) <= set(range(0, 10_001, 10))


def test_values_are_in_the_shown_unit_and_gaps_stay_gaps() -> None:
    info = clients_info("accuracy", HISTORY, rounds=[0, 1, 2], client_total=2, last_round=2)
    assert (info.metric.axis, info.rounds, info.clients) == ("Accuracy, %", (1, 2), (-1, 3))
    assert info.values == ((50.0, 62.5), (None, 25.0))


def test_what_is_not_finite_is_a_gap() -> None:
    info = clients_info("loss", {0: {1: math.nan}, 1: {1: 2.0}}, rounds=[1], client_total=2, last_round=1)
    assert info.values == ((None,), (2.0,))


def test_a_few_clients_are_lines_with_the_shared_one_dashed() -> None:
    info = clients_info("accuracy", HISTORY, rounds=[0, 1, 2], client_total=2, last_round=2)
    shared, third = clients_figure(info)["data"]
    assert (shared["name"], shared["x"], shared["y"], shared["line"]["dash"]) == (
        "shared client",
        [1, 2],
        [50.0, 62.5],
        "dash",
    )
    assert (third["name"], third["x"], third["y"]) == ("client 3", [2], [25.0])
    assert [entry["text"] for entry in clients_legend(info)] == ["shared client", "client 3"]
    go.Figure(clients_figure(info))


def test_many_clients_are_a_map() -> None:
    history = {client: {1: client / 10} for client in range(9)}
    info = clients_info("accuracy", history, rounds=[1], client_total=900, last_round=1)
    figure = clients_figure(info)
    assert (figure["data"][0]["type"], figure["data"][0]["z"][8], figure["data"][0]["zmax"]) == (
        "heatmap",
        [80.0],
        80.0,
    )
    assert (clients_legend(info), clients_notes(info)) == ([], "9 of 900 clients drawn, at even distances")
    go.Figure(figure)


def test_who_took_part_is_always_a_map_from_none_to_all() -> None:
    info = clients_info("participation", {0: {1: 0.0, 2: 1.0}}, rounds=[1, 2], client_total=1, last_round=2)
    heat = clients_figure(info)["data"][0]
    assert (heat["type"], heat["zmin"], heat["zmax"], heat["z"]) == ("heatmap", 0, 1, [[0.0, 1.0]])


def test_it_is_told_in_words() -> None:
    info = clients_info("accuracy", HISTORY, rounds=[0, 1, 2], client_total=2, last_round=2)
    assert clients_description(info) == (
        "Accuracy, % of 2 clients over rounds 1 to 2; in the last from 25.00 to 62.50."
    )
    nothing = clients_info("accuracy", {0: {}}, rounds=[0], client_total=1, last_round=0)
    assert clients_description(nothing) == "No accuracy of single clients is known yet."
    assert clients_figure(nothing)["data"] == []
