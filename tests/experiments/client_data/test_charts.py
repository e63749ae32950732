"""The picture of a federation, from a distribution written by hand."""

from __future__ import annotations

from dataclasses import replace

from experiments.client_data.charts import (
    Fact,
    client_distribution_description,
    client_distribution_facts,
    client_distribution_figure,
    client_distribution_notes,
)
from workers.client_data.distribution import ClientDistribution

PORTRAIT = ClientDistribution(
    dataset="mnist",
    samples=13,
    classes=("cat", "dog"),
    sizes=(4, 6, 3),
    held=(1, 2, 2),
    entropies=(0.0, 1.0, 0.918),
    mean_entropy=0.64,
    distance=0.51,
    pairs=3,
    clients=(0, 1, -1),
    counts=((4, 0), (3, 3), (1, 2)),
    shared=3,
    pictured=(0, 1, -1),
    warnings=(),
)


def test_a_bubble_for_each_class_that_a_client_holds_the_shared_one_in_its_own_colour() -> None:
    own, shared = client_distribution_figure(PORTRAIT)["data"][:2]
    assert (own["x"], own["y"], own["marker"]["size"]) == ([0, 1, 1], [0, 0, 1], [4, 3, 3])
    assert (shared["x"], shared["y"], shared["marker"]["size"]) == ([2, 2], [0, 1], [1, 2])
    assert (own["meta"], shared["meta"]) == ({"hue": 0, "most": 4}, {"hue": 1, "most": 4})
    assert own["text"][0] == "client 0 · cat: 4 (100% of it)"
    assert shared["text"][1] == "client shared · dog: 2 (67% of it)"


def test_bars_below_have_every_clients_size() -> None:
    own, shared = client_distribution_figure(PORTRAIT)["data"][2:]
    assert (own["x"], own["y"], shared["x"], shared["y"]) == ([0, 1], [4, 6], [2], [3])
    assert {own["yaxis"], shared["yaxis"]} == {"y2"}


def test_axes_name_classes_and_clients() -> None:
    layout = client_distribution_figure(PORTRAIT)["layout"]
    assert layout["xaxis"]["ticktext"] == ["0", "1", "shared"]
    assert layout["yaxis"]["ticktext"] == ["cat", "dog"]


def test_many_clients_are_a_heat_map_of_shares() -> None:
    many = replace(PORTRAIT, clients=tuple(range(61)), counts=((1, 3),) * 61, sizes=(4,) * 61, shared=None)
    heat, bars = client_distribution_figure(many)["data"]
    assert (heat["type"], len(heat["z"]), len(heat["z"][0])) == ("heatmap", 2, 61)
    assert (heat["z"][0][0], heat["z"][1][0]) == (0.25, 0.75)
    assert bars["y"] == [4] * 61
    assert client_distribution_figure(many)["layout"]["xaxis"]["ticktext"] == ["0", "10", "20", "30", "40", "50", "60"]


def test_numbers_come_with_what_they_mean() -> None:
    assert client_distribution_facts(PORTRAIT) == [
        Fact("Clients", "2 + 1 shared (3 samples)"),
        Fact("Samples", "13", "held by all clients together"),
        Fact("Samples a client", "4 – 4 – 6", "smallest – median – largest"),
        Fact("Classes a client", "1 – 1 – 2", "of 2"),
        Fact("Label entropy", "0.64 bits", "mean; 1.00 at most"),
        Fact("Jensen–Shannon distance", "0.51", "mean over 3 pairs; 0 is alike, 1 nothing in common"),
    ]


def test_everything_shared_is_one_client() -> None:
    central = replace(
        PORTRAIT, sizes=(13,), held=(2,), clients=(-1,), counts=((8, 5),), shared=13, distance=None, pairs=0
    )
    assert client_distribution_facts(central)[0] == Fact("Clients", "0 + 1 shared (13 samples)")
    assert client_distribution_facts(central)[2] == Fact("Samples a client", "13", "each")


def test_a_lone_client_has_no_distance() -> None:
    alone = replace(PORTRAIT, sizes=(4,), held=(1,), distance=None, pairs=0, shared=None)
    assert client_distribution_facts(alone)[-1] == Fact("Jensen–Shannon distance", "–", "needs two clients")


def test_notes_say_what_is_drawn_and_what_is_left_out() -> None:
    assert client_distribution_notes(PORTRAIT) == "Area: samples of that class"
    many = replace(PORTRAIT, sizes=(1,) * 3597, clients=tuple(range(300)))
    assert client_distribution_notes(many) == (
        "Stronger colour: more of the client's samples are of that class · "
        "300 of 3,597 clients drawn, numbers are of all · distance from fixed random pairs"
    )


def test_a_million_clients_are_said_to_be_as_many_and_drawn_as_some() -> None:
    some = replace(PORTRAIT, sizes=(4,) * 300, clients=tuple(range(300)), shared=None, total=1_000_000)
    assert client_distribution_facts(some)[0] == Fact("Clients", "1,000,000")
    assert "300 of 1,000,000 clients drawn, ranges are of these" in client_distribution_notes(some)


def test_it_is_told_in_words_too() -> None:
    assert client_distribution_description(PORTRAIT).startswith(
        "Samples of each class that each client holds of mnist. Clients: 2 + 1 shared (3 samples); Samples: 13;"
    )
