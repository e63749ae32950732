"""What clients hold, drawn: bubbles for a few clients, a heat map for many, and everyone's size below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.labels.specs import Fact
from workers.client_data.description import DRAWN, EVERY_PAIR, Portrait

BUBBLES = 60
"""Clients that can still be told apart as bubbles."""
OWN, SHARED = 0, 1
"""Hues of clients and of the shared one."""
SHARED_CLIENT = -1


def client_name(client: int) -> str:
    return "shared" if client == SHARED_CLIENT else str(client)


def portrait_figure(portrait: Portrait) -> dict[str, Any]:
    """Plotly's data and layout; `meta.hue` stands for a colour that the browser takes from the theme."""
    few = len(portrait.clients) <= BUBBLES
    holdings = bubbles(portrait) if few else [heat_map(portrait)]
    return {
        "data": [*holdings, *size_bars(portrait)],
        "layout": {
            "hovermode": "closest",
            "bargap": 0.15,
            "xaxis": {"title": {"text": "Client"}, "anchor": "y2", **client_axis(portrait)},
            "yaxis": {"title": {"text": "Class"}, "domain": [0.3, 1], **class_axis(portrait)},
            "yaxis2": {"title": {"text": "Samples"}, "domain": [0, 0.22], "nticks": 3, "rangemode": "tozero"},
        },
    }


def client_axis(portrait: Portrait) -> dict[str, Any]:
    """Places from 0 on, named by the clients there: even distances, whoever is drawn."""
    count = len(portrait.clients)
    step = next(each for each in (1, 2, 5, 10, 20, 50, 100) if count / each <= 10)
    places = [place for place in range(count) if place % step == 0 or portrait.clients[place] == SHARED_CLIENT]
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [client_name(portrait.clients[place]) for place in places],
        "range": [-0.7, count - 0.3],
        "tickangle": 0,
        "showgrid": False,
    }


def class_axis(portrait: Portrait) -> dict[str, Any]:
    count = len(portrait.classes)
    step = next(each for each in (1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000) if count / each <= 13)
    places = list(range(0, count, step))
    return {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [portrait.classes[place] for place in places],
        "range": [-0.8, count - 0.2],
    }


def bubbles(portrait: Portrait) -> list[dict[str, Any]]:
    """Area by count. One trace for the clients and one for the shared one, so that each has its colour."""
    return [trace for trace in (bubble_trace(portrait, OWN), bubble_trace(portrait, SHARED)) if trace["x"]]


def bubble_trace(portrait: Portrait, hue: int) -> dict[str, Any]:
    points = [
        (place, label, count)
        for place, row in enumerate(portrait.counts)
        if (portrait.clients[place] == SHARED_CLIENT) == (hue == SHARED)
        for label, count in enumerate(row)
        if count
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [place for place, _, _ in points],
        "y": [label for _, label, _ in points],
        "marker": {"size": [count for _, _, count in points], "sizemode": "area", "line": {"width": 0}},
        "text": [hover(portrait, place, label, count) for place, label, count in points],
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"hue": hue, "most": max((count for row in portrait.counts for count in row), default=1)},
    }


def hover(portrait: Portrait, place: int, label: int, count: int) -> str:
    of_all = count / max(1, sum(portrait.counts[place]))
    return f"client {client_name(portrait.clients[place])} · {portrait.classes[label]}: {count:,} ({of_all:.0%} of it)"


def heat_map(portrait: Portrait) -> dict[str, Any]:
    """Each client's share of every class: with many clients sizes would hide the mixture."""
    rows = [[round(count / max(1, sum(row)), 4) for count in row] for row in portrait.counts]
    return {
        "type": "heatmap",
        "x": list(range(len(rows))),
        "y": list(range(len(portrait.classes))),
        "z": [list(column) for column in zip(*rows, strict=True)],
        "zmin": 0,
        "zmax": 1,
        "customdata": [[client_name(client) for client in portrait.clients]] * len(portrait.classes),
        "hovertemplate": "client %{customdata} · %{z:.0%} class %{y}<extra></extra>",
        "meta": {"hue": OWN, "heat": True},
    }


def size_bars(portrait: Portrait) -> list[dict[str, Any]]:
    return [bars for bars in (bar_trace(portrait, OWN), bar_trace(portrait, SHARED)) if bars["x"]]


def bar_trace(portrait: Portrait, hue: int) -> dict[str, Any]:
    chosen = [
        (place, sum(row))
        for place, row in enumerate(portrait.counts)
        if (portrait.clients[place] == SHARED_CLIENT) == (hue == SHARED)
    ]
    return {
        "type": "bar",
        "x": [place for place, _ in chosen],
        "y": [size for _, size in chosen],
        "yaxis": "y2",
        "text": [f"client {client_name(portrait.clients[place])}: {size:,} samples" for place, size in chosen],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"hue": hue},
    }


def portrait_facts(portrait: Portrait) -> list[Fact]:
    distance = "–" if portrait.distance is None else f"{portrait.distance:.2f}"
    told = f"mean over {portrait.pairs:,} pairs; 0 is alike, 1 nothing in common"
    sizes, held = own_values(portrait, portrait.sizes), own_values(portrait, portrait.held)
    shared = f" + 1 shared ({portrait.shared:,} samples)" if portrait.shared is not None else ""
    uneven = len(set(sizes)) > 1
    return [
        Fact("Clients", f"{len(portrait.sizes) - (portrait.shared is not None):,}{shared}"),
        Fact("Samples", f"{portrait.samples:,}", "held by all clients together"),
        Fact("Samples a client", spread(sizes), "smallest – median – largest" if uneven else "each"),
        Fact("Classes a client", spread(held), f"of {len(portrait.classes)}"),
        Fact("Label entropy", f"{portrait.mean_entropy:.2f} bits", f"mean; {portrait.most_entropy:.2f} at most"),
        Fact("Jensen–Shannon distance", distance, told if portrait.pairs else "needs two clients"),
    ]


def own_values(portrait: Portrait, values: Sequence[int]) -> Sequence[int]:
    """Of the clients without the shared one, which is the first or the last."""
    if portrait.shared is None or len(values) == 1:
        return values
    return values[1:] if portrait.clients[0] == SHARED_CLIENT else values[:-1]


def spread(values: Sequence[int]) -> str:
    ordered = sorted(values)
    low, middle, high = ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]
    return f"{low:,}" if low == high else f"{low:,} – {middle:,} – {high:,}"


def portrait_notes(portrait: Portrait) -> str:
    notes = []
    if len(portrait.clients) <= BUBBLES:
        notes.append("Area: samples of that class")
    else:
        notes.append("Stronger colour: more of the client's samples are of that class")
    if len(portrait.sizes) > DRAWN:
        notes.append(f"{len(portrait.clients):,} of {len(portrait.sizes):,} clients drawn, numbers are of all")
    if len(portrait.sizes) > EVERY_PAIR:
        notes.append("distance from fixed random pairs")
    return " · ".join(notes)


def portrait_description(portrait: Portrait) -> str:
    """The chart in words, for people who do not see it."""
    facts = "; ".join(f"{fact.name}: {fact.value}" for fact in portrait_facts(portrait))
    return f"Samples of each class that each client holds of {portrait.dataset}. {facts}."
