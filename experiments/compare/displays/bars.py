"""Bars: one for each cell, or stacked of several parts; sizes of models among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import Table
from experiments.charts.styles import Placed
from experiments.labels.metrics import MetricLabel
from experiments.labels.specs import parsed
from experiments.statistics.intervals import Sample
from workers.catalog import load_catalog
from workers.spec.work import BYTES_PER_VALUE, parameter_count

BAR, FRAME = 26, 80
MOST = 60
WIDE, NARROW = 44, 18
LINE = 15


@dataclass(frozen=True)
class Bar:
    name: str
    mean: float
    std: float | None
    n: int


@dataclass(frozen=True)
class BarPart:
    """All bars of one colour; where `hues` are given each bar has its own."""

    label: str
    hue: int
    bars: tuple[Bar, ...]
    hues: tuple[int, ...] = ()


@dataclass(frozen=True)
class BarsInfo:
    label: MetricLabel
    parts: tuple[BarPart, ...]
    left_out: int = 0

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(bar.name for part in self.parts for bar in part.bars))


def bars_info(places: Mapping[str, Placed], samples: Mapping[str, Sample], label: MetricLabel) -> BarsInfo:
    """A bar for each cell that has a value, in the hue of its line elsewhere."""
    found = [(cell, place) for cell, place in places.items() if cell in samples and samples[cell].mean is not None]
    bars = tuple(bar_of(place.whole_label, samples[cell], label) for cell, place in found[:MOST])
    hues = tuple(place.style.hue for _, place in found[:MOST])
    return BarsInfo(label, (BarPart(label.text, 0, bars, hues),) if bars else (), len(found) - len(bars))


def stacked_info(
    places: Mapping[str, Placed], parts: Mapping[str, Mapping[str, Sample]], label: MetricLabel
) -> BarsInfo:
    """What never was anything, such as traffic between clients in most strategies, is no part."""
    shown = dict(list(places.items())[:MOST])
    made = []
    for hue, (name, samples) in enumerate(parts.items()):
        bars = [bar_of(place.whole_label, samples[cell], label) for cell, place in shown.items() if cell in samples]
        if any(bar.mean for bar in bars):
            made.append(BarPart(name, hue, tuple(bars)))
    return BarsInfo(label, tuple(made), len(places) - len(shown))


def bar_of(name: str, sample: Sample, label: MetricLabel) -> Bar:
    std = None if sample.std is None else sample.std * label.scale
    return Bar(name, (sample.mean or 0.0) * label.scale, std, sample.n)


def bars_figure(info: BarsInfo, *, narrow: bool = False) -> dict[str, Any]:
    """Lying, so that long names can be read; the first at the top."""
    stacked = len(info.parts) > 1
    names = {name: broken(name, NARROW if narrow else WIDE) for name in info.names}
    lines = max((text.count("<br>") + 1 for text in names.values()), default=1)
    return {
        "data": [trace for part in info.parts for trace in bar_traces(part, info, stacked)],
        "layout": {
            "barmode": "stack",
            "hovermode": "closest",
            "height": max(BAR, LINE * lines + 6) * len(names) + FRAME,
            "bargap": 0.3,
            "xaxis": {"title": {"text": info.label.axis}, "rangemode": "tozero"},
            "yaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": info.names[::-1],
                "tickmode": "array",
                "tickvals": list(names),
                "ticktext": list(names.values()),
                "ticks": "",
            },
        },
    }


def broken(name: str, width: int) -> str:
    """In lines of about that many letters, broken between its parts."""
    lines = [""]
    for part in name.split(" · "):
        joined = f"{lines[-1]} · {part}" if lines[-1] else part
        if lines[-1] and len(joined) > width:
            lines.append(part)
        else:
            lines[-1] = joined
    return "<br>".join(lines)


def bar_traces(part: BarPart, info: BarsInfo, stacked: bool) -> list[dict[str, Any]]:
    """One trace for each hue: the browser fills in one colour for a trace."""
    hues = part.hues or (part.hue,) * len(part.bars)
    return [
        bar_trace(part.label, hue, [bar for bar, own in zip(part.bars, hues, strict=True) if own == hue], info, stacked)
        for hue in dict.fromkeys(hues)
    ]


def bar_trace(name: str, hue: int, bars: Sequence[Bar], info: BarsInfo, stacked: bool) -> dict[str, Any]:
    digits = info.label.digits
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "legendgroup": name,
        "x": [bar.mean for bar in bars],
        "y": [bar.name for bar in bars],
        "error_x": {"array": [bar.std or 0 for bar in bars], "visible": not stacked and any(bar.std for bar in bars)},
        "customdata": [bar.n for bar in bars],
        "hovertemplate": f"%{{y}}<br>{name}: %{{x:,.{digits}f}} · n=%{{customdata}}<extra></extra>",
        "meta": {"hue": hue},
    }


def bars_legend(info: BarsInfo) -> list[dict[str, Any]]:
    return [
        {"label": part.label, "hue": part.hue, "dash": "solid", "n": len(part.bars), "text": part.label}
        for part in info.parts
    ]


def bars_description(info: BarsInfo) -> str:
    if not info.parts:
        return f"{info.label.text}: no finished run has it yet."
    told = "; ".join(
        f"{part.label} of {bar.name}: {bar.mean:,.{info.label.digits}f}" for part in info.parts for bar in part.bars
    )
    return f"{info.label.axis}. {told}."


def bars_notes(info: BarsInfo) -> str:
    notes = []
    if len(info.parts) == 1 and any(bar.std for bar in info.parts[0].bars):
        notes.append("Whiskers: mean ± std over seeds")
    if info.left_out:
        notes.append(f"{info.left_out} cells more than fit here")
    return " · ".join(notes)


def bars_table(info: BarsInfo) -> Table:
    """In stored units."""
    scale = info.label.scale
    rows = tuple(
        (bar.name, part.label, bar.mean / scale, None if bar.std is None else bar.std / scale, bar.n)
        for part in info.parts
        for bar in part.bars
    )
    return Table(("cell", "part", "mean", "std", "n"), rows)


KILOBYTES = MetricLabel("bytes", "Size of the model", "kB", 1e-3, 1)


def sizes_info(specs: Mapping[str, Mapping[str, Any]]) -> BarsInfo:
    """Each model once for each data set; of detectors a single one, and as many as there are classes."""
    sizes: dict[str, int] = {}
    for spec in specs.values():
        sizes |= own_sizes(spec)
    bars = tuple(Bar(name, size * KILOBYTES.scale, None, 1) for name, size in sizes.items())
    return BarsInfo(KILOBYTES, (BarPart(KILOBYTES.text, 0, bars),) if bars else ())


def own_sizes(spec: Mapping[str, Any]) -> dict[str, int]:
    """None where a plugin or a data set has gone."""
    found = parsed(spec)
    if found is None:
        return {}
    each, facts = BYTES_PER_VALUE[found.precision], found.dataset_facts
    name = f"{found.model.name} on {found.dataset.name}"
    told_apart = load_catalog().strategies[found.strategy.name].model_classes(found)
    if told_apart == facts.classes:
        return {name: each * parameter_count(found)}
    model = load_catalog().models[found.model.name]
    size = each * model.parameter_count(facts.shape, told_apart, found.model)
    return {f"{name}, one detector": size, f"{name}, all {facts.classes} detectors": size * facts.classes}
