"""How big models are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.charts.displays.bars import Bar, BarPart, BarsInfo
from experiments.charts.metrics import MetricLabel
from experiments.charts.spec_words import parsed
from workers.catalog import load_catalog
from workers.spec.work import BYTES_PER_VALUE, parameter_count

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
