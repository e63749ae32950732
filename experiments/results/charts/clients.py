"""One number of many clients over the rounds: lines for a few clients, a map for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.charts.styles import HUES
from experiments.client_data.charts import SHARED_CLIENT, client_name
from experiments.labels.metrics import MetricLabel, metric_label

PARTICIPATION = "participation"
EVALUATED = ("accuracy", "loss")
MOST_LINES = HUES
"""Clients that can still be told apart as lines."""
MOST_CLIENTS, MOST_ROUNDS = 200, 150
CLIENT_LABELS = {
    label.name: label
    for label in (
        MetricLabel("accuracy", "Accuracy", "%", 100.0, 2, higher_is_better=True),
        MetricLabel("loss", "Loss", digits=4),
        MetricLabel("train_loss", "Training loss", digits=4),
        MetricLabel("samples", "Samples", digits=0),
        MetricLabel("steps", "Local steps", digits=0),
        MetricLabel(PARTICIPATION, "Took part", digits=0),
        MetricLabel("failed", "Failed to answer", digits=0),
    )
}


@dataclass(frozen=True)
class ClientsInfo:
    """`values` has a row for each of `clients` and a column for each of `rounds`; None where it is not known."""

    metric: MetricLabel
    rounds: tuple[int, ...]
    clients: tuple[int, ...]
    values: tuple[tuple[float | None, ...], ...]
    client_total: int
    last_round: int


def client_label(name: str) -> MetricLabel:
    return CLIENT_LABELS.get(name) or metric_label(name)


def evenly_spaced(values: Sequence[int], most: int) -> list[int]:
    """At most so many, at even distances, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[place * (len(values) - 1) // (most - 1)] for place in range(most)]


def rounds_to_draw(name: str, last: int, every: int) -> list[int]:
    """Of the rounds that tell the number: evaluations come each `every` rounds, training in all but round 0."""
    if name in EVALUATED:
        return evenly_spaced(sorted({*range(0, last + 1, every), last}), MOST_ROUNDS)
    return evenly_spaced(range(1, last + 1), MOST_ROUNDS)


def clients_info(
    name: str, history: Mapping[int, Mapping[int, float]], *, rounds: Sequence[int], client_total: int, last_round: int
) -> ClientsInfo:
    label = client_label(name)
    known_rounds = [number for number in rounds if any(number in row for row in history.values())]
    values = tuple(tuple(scaled_value(row.get(number), label) for number in known_rounds) for row in history.values())
    return ClientsInfo(label, tuple(known_rounds), tuple(history), values, client_total, last_round)


def scaled_value(value: float | None, label: MetricLabel) -> float | None:
    """Not finite is not known: neither can be drawn."""
    finite = isinstance(value, int | float) and value - value == 0
    return round(value * label.scale, 6) if finite and value is not None else None


def clients_figure(info: ClientsInfo) -> dict[str, Any]:
    few = len(info.clients) <= MOST_LINES and info.metric.name != PARTICIPATION
    data = client_lines(info) if few else [clients_heat_map(info)]
    y = {"title": {"text": info.metric.axis}} if few else clients_axis(info)
    return {
        "data": data if info.rounds else [],
        "layout": {
            "hovermode": "x unified" if few else "closest",
            "xaxis": {"title": {"text": "Round"}, "rangemode": "tozero" if few else "normal"},
            "yaxis": y,
        },
    }


def client_lines(info: ClientsInfo) -> list[dict[str, Any]]:
    return [
        {
            "type": "scatter",
            "mode": "lines+markers" if len(info.rounds) <= 40 else "lines",
            "name": client_title(client),
            "legendgroup": client_title(client),
            "x": [number for number, value in zip(info.rounds, row, strict=True) if value is not None],
            "y": [value for value in row if value is not None],
            "line": {"dash": "dash" if client == SHARED_CLIENT else "solid", "width": 2},
            "marker": {"size": 5},
            "hovertemplate": f"{client_title(client)}: %{{y:.{info.metric.digits}f}}<extra></extra>",
            "meta": {"hue": place % HUES},
        }
        for place, (client, row) in enumerate(zip(info.clients, info.values, strict=True))
    ]


def clients_heat_map(info: ClientsInfo) -> dict[str, Any]:
    digits = "" if info.metric.name == PARTICIPATION else f": %{{z:.{info.metric.digits}f}}"
    values = [value for row in info.values for value in row if value is not None]
    return {
        "type": "heatmap",
        "x": list(info.rounds),
        "y": [client_name(client) for client in info.clients],
        "z": [list(row) for row in info.values],
        "zmin": 0 if info.metric.name == PARTICIPATION else min(values, default=0),
        "zmax": 1 if info.metric.name == PARTICIPATION else max(values, default=1),
        "hoverongaps": False,
        "hovertemplate": f"round %{{x}}, client %{{y}}{digits}<extra></extra>",
        "meta": {"hue": 0, "heat": True, "scale": info.metric.name != PARTICIPATION, "title": info.metric.unit},
    }


def clients_axis(info: ClientsInfo) -> dict[str, Any]:
    return {
        "title": {"text": "Client"},
        "type": "category",
        "tickmode": "array",
        "tickvals": [client_name(client) for client in evenly_spaced(info.clients, 10)],
        "showgrid": False,
        "autorange": "reversed",
    }


def client_title(client: int) -> str:
    return "shared client" if client == SHARED_CLIENT else f"client {client}"


def clients_legend(info: ClientsInfo) -> list[dict[str, Any]]:
    return [
        {
            "label": trace["name"],
            "hue": trace["meta"]["hue"],
            "dash": trace["line"]["dash"],
            "n": len(trace["x"]),
            "text": trace["name"],
        }
        for trace in clients_figure(info)["data"]
        if "name" in trace
    ]


def clients_description(info: ClientsInfo) -> str:
    """The chart in words, for people who do not see it."""
    last = [row[-1] for row in info.values if row and row[-1] is not None]
    if not last:
        return f"No {info.metric.text.lower()} of single clients is known yet."
    low, high = min(last), max(last)
    return (
        f"{info.metric.axis} of {len(info.clients)} clients over rounds {info.rounds[0]} to {info.rounds[-1]}; "
        f"in the last from {low:.{info.metric.digits}f} to {high:.{info.metric.digits}f}."
    )


def clients_table(info: ClientsInfo) -> DataTable:
    """In stored units."""
    rows = tuple(
        (client, number, value / info.metric.scale)
        for client, row in zip(info.clients, info.values, strict=True)
        for number, value in zip(info.rounds, row, strict=True)
        if value is not None
    )
    return DataTable(("client", "round", info.metric.name), rows)


def clients_notes(info: ClientsInfo) -> str:
    notes = []
    if info.client_total > len(info.clients):
        notes.append(f"{len(info.clients):,} of {info.client_total:,} clients drawn, at even distances")
    if info.rounds and info.last_round + 1 > MOST_ROUNDS:
        notes.append(f"{len(info.rounds):,} rounds drawn, at even distances")
    return " · ".join(notes)
