"""What clients hold, drawn: bubbles for a few clients, a heat map for many, and everyone's size below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.labels.specs import Fact
from workers.client_data.distribution import MOST_CLIENTS_ALL_PAIRS, MOST_ROWS, ClientDistribution

MOST_BUBBLE_CLIENTS = 60
"""Clients that can still be told apart as bubbles."""
CLIENT_HUE, SHARED_HUE = 0, 1
"""Hues of clients and of the shared one."""
SHARED_CLIENT = -1


def client_name(client: int) -> str:
    return "shared" if client == SHARED_CLIENT else str(client)


def client_distribution_figure(distribution: ClientDistribution) -> dict[str, Any]:
    """Plotly's data and layout; `meta.hue` stands for a colour that the browser takes from the theme."""
    few = len(distribution.clients) <= MOST_BUBBLE_CLIENTS
    holdings = bubble_traces(distribution) if few else [class_share_heat_map(distribution)]
    return {
        "data": [*holdings, *size_bar_traces(distribution)],
        "layout": {
            "hovermode": "closest",
            "bargap": 0.15,
            "xaxis": {"title": {"text": "Client"}, "anchor": "y2", **client_position_axis(distribution)},
            "yaxis": {"title": {"text": "Class"}, "domain": [0.3, 1], **class_axis(distribution)},
            "yaxis2": {"title": {"text": "Samples"}, "domain": [0, 0.22], "nticks": 3, "rangemode": "tozero"},
        },
    }


def client_position_axis(distribution: ClientDistribution) -> dict[str, Any]:
    """Places from 0 on, named by the clients there: even distances, whoever is drawn."""
    count = len(distribution.clients)
    step = next(each for each in (1, 2, 5, 10, 20, 50, 100) if count / each <= 10)
    places = [place for place in range(count) if place % step == 0 or distribution.clients[place] == SHARED_CLIENT]
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [client_name(distribution.clients[place]) for place in places],
        "range": [-0.7, count - 0.3],
        "tickangle": 0,
        "showgrid": False,
    }


def class_axis(distribution: ClientDistribution) -> dict[str, Any]:
    count = len(distribution.classes)
    step = next(each for each in (1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000) if count / each <= 13)
    places = list(range(0, count, step))
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [distribution.classes[place] for place in places],
        "range": [-0.8, count - 0.2],
    }


def bubble_traces(distribution: ClientDistribution) -> list[dict[str, Any]]:
    """Area by count. One trace for the clients and one for the shared one, so that each has its colour."""
    return [
        trace
        for trace in (bubble_trace(distribution, CLIENT_HUE), bubble_trace(distribution, SHARED_HUE))
        if trace["x"]
    ]


def bubble_trace(distribution: ClientDistribution, hue: int) -> dict[str, Any]:
    points = [
        (place, label, count)
        for place, row in enumerate(distribution.counts)
        if (distribution.clients[place] == SHARED_CLIENT) == (hue == SHARED_HUE)
        for label, count in enumerate(row)
        if count
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [place for place, _, _ in points],
        "y": [label for _, label, _ in points],
        "marker": {"size": [count for _, _, count in points], "sizemode": "area", "line": {"width": 0}},
        "text": [bubble_hover(distribution, place, label, count) for place, label, count in points],
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"hue": hue, "most": max((count for row in distribution.counts for count in row), default=1)},
    }


def bubble_hover(distribution: ClientDistribution, place: int, label: int, count: int) -> str:
    of_all = count / max(1, sum(distribution.counts[place]))
    client, name = client_name(distribution.clients[place]), distribution.classes[label]
    return f"client {client} · {name}: {count:,} ({of_all:.0%} of it)"


def class_share_heat_map(distribution: ClientDistribution) -> dict[str, Any]:
    """Each client's share of every class: with many clients sizes would hide the mixture."""
    rows = [[round(count / max(1, sum(row)), 4) for count in row] for row in distribution.counts]
    return {
        "type": "heatmap",
        "x": list(range(len(rows))),
        "y": list(range(len(distribution.classes))),
        "z": [list(column) for column in zip(*rows, strict=True)],
        "zmin": 0,
        "zmax": 1,
        "customdata": [[client_name(client) for client in distribution.clients]] * len(distribution.classes),
        "hovertemplate": "client %{customdata} · %{z:.0%} class %{y}<extra></extra>",
        "meta": {"hue": CLIENT_HUE, "heat": True},
    }


def size_bar_traces(distribution: ClientDistribution) -> list[dict[str, Any]]:
    return [
        bars
        for bars in (size_bar_trace(distribution, CLIENT_HUE), size_bar_trace(distribution, SHARED_HUE))
        if bars["x"]
    ]


def size_bar_trace(distribution: ClientDistribution, hue: int) -> dict[str, Any]:
    sizes = [
        (place, sum(row))
        for place, row in enumerate(distribution.counts)
        if (distribution.clients[place] == SHARED_CLIENT) == (hue == SHARED_HUE)
    ]
    return {
        "type": "bar",
        "x": [place for place, _ in sizes],
        "y": [size for _, size in sizes],
        "yaxis": "y2",
        "text": [f"client {client_name(distribution.clients[place])}: {size:,} samples" for place, size in sizes],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"hue": hue},
    }


def client_distribution_facts(distribution: ClientDistribution) -> list[Fact]:
    distance = "–" if distribution.distance is None else f"{distribution.distance:.2f}"
    distance_note = f"mean over {distribution.pairs:,} pairs; 0 is alike, 1 nothing in common"
    sizes, held = (
        without_shared_client(distribution, distribution.sizes),
        without_shared_client(distribution, distribution.held),
    )
    shared = f" + 1 shared ({distribution.shared:,} samples)" if distribution.shared is not None else ""
    uneven = len(set(sizes)) > 1
    return [
        Fact("Clients", f"{distribution.client_count - (distribution.shared is not None):,}{shared}"),
        Fact("Samples", f"{distribution.samples:,}", "held by all clients together"),
        Fact("Samples a client", range_text(sizes), "smallest – median – largest" if uneven else "each"),
        Fact("Classes a client", range_text(held), f"of {len(distribution.classes)}"),
        Fact(
            "Label entropy", f"{distribution.mean_entropy:.2f} bits", f"mean; {distribution.most_entropy:.2f} at most"
        ),
        Fact("Jensen–Shannon distance", distance, distance_note if distribution.pairs else "needs two clients"),
    ]


def without_shared_client(distribution: ClientDistribution, values: Sequence[int]) -> Sequence[int]:
    """Of the clients without the shared one, which is the first or the last."""
    if distribution.shared is None or len(values) == 1:
        return values
    return values[1:] if distribution.clients[0] == SHARED_CLIENT else values[:-1]


def range_text(values: Sequence[int]) -> str:
    ordered = sorted(values)
    low, middle, high = ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]
    return f"{low:,}" if low == high else f"{low:,} – {middle:,} – {high:,}"


def client_distribution_notes(distribution: ClientDistribution) -> str:
    notes = []
    if len(distribution.clients) <= MOST_BUBBLE_CLIENTS:
        notes.append("Area: samples of that class")
    else:
        notes.append("Stronger colour: more of the client's samples are of that class")
    if distribution.client_count > MOST_ROWS:
        numbers = "ranges are of these" if distribution.total else "numbers are of all"
        notes.append(f"{len(distribution.clients):,} of {distribution.client_count:,} clients drawn, {numbers}")
    if distribution.client_count > MOST_CLIENTS_ALL_PAIRS:
        notes.append("distance from fixed random pairs")
    return " · ".join(notes)


def client_distribution_description(distribution: ClientDistribution) -> str:
    """The chart in words, for people who do not see it."""
    facts = "; ".join(f"{fact.name}: {fact.value}" for fact in client_distribution_facts(distribution))
    return f"Samples of each class that each client holds of {distribution.dataset}. {facts}."


Held = Literal["classes", "samples"]
MOST_BINS = 25


@dataclass(frozen=True)
class HeldInfo:
    """How many clients hold so many classes, or so many samples: a bar for each span of numbers."""

    of: Held
    names: tuple[str, ...]
    clients: tuple[int, ...]


def held_info(numbers: Sequence[int], of: Held) -> HeldInfo:
    """Spans of equal, round width; a number each where there are few."""
    largest = max(numbers, default=0)
    widths = (base * 10**power for power in range(10) for base in (1, 2, 5))
    width = next(each for each in widths if largest // each < MOST_BINS)
    counts = [0] * (largest // width + 1)
    for number in numbers:
        counts[number // width] += 1
    first = next((place for place, count in enumerate(counts) if count), 0)
    spans = [(place * width, (place + 1) * width - 1) for place in range(len(counts))][first:]
    names = tuple(f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in spans)
    return HeldInfo(of, names, tuple(counts[first:]))


def held_title(of: Held) -> str:
    return f"Clients by the {of} they hold"


def held_figure(info: HeldInfo) -> dict[str, Any]:
    bars = {"type": "bar", "x": list(info.names), "y": list(info.clients), "meta": {"hue": CLIENT_HUE}}
    words = f"%{{x}} {info.of}: %{{y:,}} clients<extra></extra>"
    return {
        "data": [{**bars, "hovertemplate": words, "showlegend": False}],
        "layout": {
            "hovermode": "closest",
            "bargap": 0.08,
            "xaxis": {"title": {"text": info.of.capitalize()}, "type": "category"},
            "yaxis": {"title": {"text": "Clients"}, "rangemode": "tozero"},
        },
    }


def held_description(info: HeldInfo) -> str:
    most = max(range(len(info.clients)), key=lambda place: info.clients[place])
    return (
        f"Histogram of {sum(info.clients):,} clients by the number of {info.of} they hold; most, "
        f"{info.clients[most]:,}, hold {info.names[most]}."
    )
