"""What a block's data sets and models come to, in a few words under their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pydantic import ValidationError

from workers.catalog import load_catalog
from workers.component import DatasetFacts, Kind
from workers.spec.grid import variants

LOOKED_AT = 20


def notes(block: Any) -> dict[str, str]:
    if not isinstance(block, Mapping):
        return {}
    catalog = load_catalog()
    facts = [catalog.datasets[each.name].facts(each) for each in valid("dataset", block.get("dataset"))]
    sizes = [
        catalog.models[model.name].parameter_count(each.shape, each.classes, model)
        for each in facts
        for model in valid("model", block.get("model"))
        if catalog.models[model.name].fits(each.shape, each.classes, model)
    ]
    found = {"dataset": facts_text(facts), "model": sizes_text(sizes)}
    return {path: text for path, text in found.items() if text}


def valid(kind: Kind, value: Any) -> Iterator[Any]:
    """The parameters of each component written there; what is wrong is told elsewhere."""
    known = load_catalog().components[kind]
    for variant in islice(variants(value, "", ""), LOOKED_AT):
        component = known.get(str(variant.value.get("name"))) if isinstance(variant.value, Mapping) else None
        if component is not None:
            try:
                yield component.Params.model_validate(variant.value)
            except ValidationError:
                continue


def facts_text(facts: list[DatasetFacts]) -> str:
    if len(facts) != 1:
        return ""
    only = facts[0]
    natural = f"{only.natural_clients:,} natural clients" if only.natural_clients else "no natural clients"
    return f"{only.train:,} train · {only.test:,} test · {only.classes} classes · {natural}"


def sizes_text(sizes: list[int]) -> str:
    if not sizes:
        return ""
    low, high = min(sizes), max(sizes)
    return f"{low:,} parameters" if low == high else f"{low:,} to {high:,} parameters"
