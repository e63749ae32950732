"""Bars: one for each cell, or stacked of several parts; sizes of models among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.chart import DataTable
from experiments.charts.styles import CellStyle
from experiments.compare.charts.values import samples_note, seeds_text
from experiments.labels.metrics import MetricLabel
from experiments.labels.specs import try_parse_run
from experiments.statistics.over_seeds import Sample
from workers.catalog import load_catalog
from workers.spec.workload import BYTES_PER_VALUE, parameter_count

BAR_HEIGHT, FRAME_HEIGHT = 26, 80
MOST_BARS = 60
WIDE_LABEL, NARROW_LABEL = 44, 18
LINE_HEIGHT = 15


@dataclass(frozen=True)
class Bar:
    name: str
    mean: float
    std: float | None
    n: int
    lost: int = 0
    missed: int = 0


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
    lost_note: str = ""

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(bar.name for part in self.parts for bar in part.bars))


def bars_info(styles: Mapping[str, CellStyle], samples: Mapping[str, Sample], label: MetricLabel) -> BarsInfo:
    """A bar for each cell that has a value, in the hue of its line elsewhere."""
    measured_cells = [
        (cell, style) for cell, style in styles.items() if cell in samples and samples[cell].mean is not None
    ]
    bars = tuple(bar_of(style.whole_label, samples[cell], label) for cell, style in measured_cells[:MOST_BARS])
    hues = tuple(style.line.hue for _, style in measured_cells[:MOST_BARS])
    parts = (BarPart(label.text, 0, bars, hues),) if bars else ()
    note = samples_note(samples[cell] for cell in styles if cell in samples)
    return BarsInfo(label, parts, len(measured_cells) - len(bars), note)


def stacked_bars_info(
    styles: Mapping[str, CellStyle], parts: Mapping[str, Mapping[str, Sample]], label: MetricLabel
) -> BarsInfo:
    """What never was anything, such as traffic between clients in most strategies, is no part."""
    drawn_styles = dict(list(styles.items())[:MOST_BARS])
    bar_parts = []
    for hue, (name, samples) in enumerate(parts.items()):
        bars = [
            bar_of(style.whole_label, samples[cell], label)
            for cell, style in drawn_styles.items()
            if cell in samples and samples[cell].mean is not None
        ]
        if any(bar.mean for bar in bars):
            bar_parts.append(BarPart(name, hue, tuple(bars)))
    first = next(iter(parts.values()), {})
    note = samples_note(first[cell] for cell in drawn_styles if cell in first)
    return BarsInfo(label, tuple(bar_parts), len(styles) - len(drawn_styles), note)


def bar_of(name: str, sample: Sample, label: MetricLabel) -> Bar:
    std = None if sample.std is None else sample.std * label.scale
    return Bar(name, (sample.mean or 0.0) * label.scale, std, sample.n, sample.lost, sample.missed)


def bars_figure(info: BarsInfo, *, narrow: bool = False) -> dict[str, Any]:
    """Lying, so that long names can be read; the first at the top."""
    stacked = len(info.parts) > 1
    names = {name: break_lines(name, NARROW_LABEL if narrow else WIDE_LABEL) for name in info.names}
    lines = max((text.count("<br>") + 1 for text in names.values()), default=1)
    return {
        "data": [trace for part in info.parts for trace in bar_traces(part, info, stacked)],
        "layout": {
            "barmode": "stack",
            "hovermode": "closest",
            "height": max(BAR_HEIGHT, LINE_HEIGHT * lines + 6) * len(names) + FRAME_HEIGHT,
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


def break_lines(name: str, width: int) -> str:
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
        "customdata": [seeds_text(bar) for bar in bars],
        "hovertemplate": f"%{{y}}<br>{name}: %{{x:,.{digits}f}} · %{{customdata}}<extra></extra>",
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
    bar_texts = "; ".join(
        f"{part.label} of {bar.name}: {bar.mean:,.{info.label.digits}f}{bar_lost_part(bar)}"
        for part in info.parts
        for bar in part.bars
    )
    return f"{info.label.axis}. {bar_texts}."


def bar_lost_part(bar: Bar) -> str:
    return f" ({seeds_text(bar)})" if bar.lost or bar.missed else ""


def bars_notes(info: BarsInfo) -> str:
    notes = []
    if len(info.parts) == 1 and any(bar.std for bar in info.parts[0].bars):
        notes.append("Whiskers: mean ± std over seeds")
    if info.lost_note:
        notes.append(info.lost_note)
    if info.left_out:
        notes.append(f"{info.left_out} cells more than fit here")
    return " · ".join(notes)


def bars_table(info: BarsInfo) -> DataTable:
    """In stored units."""
    scale = info.label.scale
    rows = tuple(
        (
            *(bar.name, part.label, bar.mean / scale, None if bar.std is None else bar.std / scale),
            *(bar.n, bar.lost, bar.missed),
        )
        for part in info.parts
        for bar in part.bars
    )
    return DataTable(("cell", "part", "mean", "std", "n", "lost", "missed"), rows)


KILOBYTES = MetricLabel("bytes", "Size of the model", "kB", 1e-3, 1)


def model_sizes_info(specs: Mapping[str, Mapping[str, Any]]) -> BarsInfo:
    """Each model once for each data set; of detectors a single one, and as many as there are classes."""
    sizes: dict[str, int] = {}
    for spec in specs.values():
        sizes |= model_sizes(spec)
    bars = tuple(Bar(name, size * KILOBYTES.scale, None, 1) for name, size in sizes.items())
    return BarsInfo(KILOBYTES, (BarPart(KILOBYTES.text, 0, bars),) if bars else ())


def model_sizes(spec: Mapping[str, Any]) -> dict[str, int]:
    """None where a plugin or a data set has gone."""
    run = try_parse_run(spec)
    if run is None:
        return {}
    value_bytes, facts = BYTES_PER_VALUE[run.precision], run.dataset_facts
    name = f"{run.model.name} on {run.dataset.name}"
    classes_of_model = load_catalog().strategies[run.strategy.name].model_classes(run)
    if classes_of_model == facts.classes:
        return {name: value_bytes * parameter_count(run)}
    model = load_catalog().models[run.model.name]
    size = value_bytes * model.parameter_count(facts.shape, classes_of_model, run.model)
    return {f"{name}, one detector": size, f"{name}, all {facts.classes} detectors": size * facts.classes}
