"""Which samples each client of a spec holds: the part of a spec that decides it, and the index vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from workers.catalog import load_catalog
from workers.catalog.component import Arrays
from workers.engine.data.federation import ClientData, partitioned, shared_out
from workers.errors import FederationError, TributaryError
from workers.spec import RunSpec, parse_run
from workers.spec.grid import variants, with_seeds

FIELDS = ("dataset", "partition", "feature_noise", "hybrid", "clients", "seed")
ANY_METHOD = {"model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}
MOST_CHOICES = 500


@dataclass(frozen=True)
class Holdings:
    """`parts` is the partition as drawn, before any sharing: noise follows it."""

    spec: RunSpec
    arrays: Arrays
    parts: Sequence[np.ndarray]
    clients: tuple[ClientData, ...]


def holding_spec(data: Mapping[str, Any]) -> RunSpec:
    """The spec with only what decides who holds what; model, method and training are put aside."""
    given = {key: data[key] for key in FIELDS if key in data}
    return parse_run({**given, **ANY_METHOD})


def relevant(spec: RunSpec) -> dict[str, Any]:
    """As plain data. How a sample is normalised changes nothing of what is drawn here."""
    fields: dict[str, Any] = spec.model_dump(mode="json", include=set(FIELDS))
    fields["dataset"].pop("normalise", None)
    return fields


def choices(blocks: Any) -> list[RunSpec]:
    """Each different federation that the blocks describe, at its first seed; what is not valid is left out."""
    found: dict[str, RunSpec] = {}
    for spec in islice(valid_specs(blocks), MOST_CHOICES):
        found.setdefault(repr(relevant(spec)), spec)
    return list(found.values())


def valid_specs(blocks: Any) -> Iterator[RunSpec]:
    for block in blocks if isinstance(blocks, list) else []:
        if isinstance(block, Mapping):
            for variant in variants(first_seed(block), "", ""):
                try:
                    yield holding_spec(variant.value)
                except TributaryError:
                    continue


def first_seed(block: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: block[key] for key in (*FIELDS, "seeds") if key in block}
    if isinstance(given.get("seeds"), int):
        given["seeds"] = 1
    fields = with_seeds(given)
    if isinstance(fields.get("seed"), list):
        fields["seed"] = fields["seed"][:1]
    return fields


def hold(spec: RunSpec) -> Holdings:
    dataset = load_catalog().datasets[spec.dataset.name]
    if what_to_do := dataset.available(spec.dataset):
        raise FederationError(what_to_do)
    arrays = dataset.taken(spec.dataset)
    parts = partitioned(spec, arrays)
    return Holdings(spec, arrays, parts, shared_out(spec, parts))
