"""Which samples each client of a spec holds: the part of a spec that decides it, and the index vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from workers.catalog import load_catalog
from workers.catalog.component import Arrays
from workers.engine.clients import Clients
from workers.engine.federation import partition_samples, share_between_clients
from workers.errors import FederationError, TributaryError
from workers.spec import RunSpec, parse_run
from workers.spec.grid import value_variants, with_seeds

FEDERATION_FIELDS = ("dataset", "partition", "feature_noise", "feature_noise_kind", "hybrid", "clients", "seed")
PLACEHOLDER_METHOD = {"model": {"name": "logistic"}, "strategy": {"name": "fedavg"}}
MOST_VARIANTS = 500


@dataclass(frozen=True)
class SampleAssignment:
    """`parts` is the partition as drawn, before any sharing: noise follows it."""

    spec: RunSpec
    arrays: Arrays
    parts: Sequence[np.ndarray]
    clients: Clients


def federation_spec(data: Mapping[str, Any]) -> RunSpec:
    """The spec with only what decides who holds what; model, method and training are put aside."""
    fields = {key: data[key] for key in FEDERATION_FIELDS if key in data}
    return parse_run({**fields, **PLACEHOLDER_METHOD, "evaluation": placeholder_evaluation(fields.get("hybrid"))})


def placeholder_evaluation(hybrid: Any) -> dict[str, Any]:
    """One that every federation allows: of a cohort, unless everything is shared and nobody can hold anything out."""
    everything_shared = isinstance(hybrid, Mapping) and hybrid.get("ratio") == 1
    return {} if everything_shared else {"on": "clients", "clients": "cohort"}


def federation_fields(spec: RunSpec) -> dict[str, Any]:
    """As plain data. How a sample is normalised changes nothing of what is drawn here, unless noise comes after it."""
    fields: dict[str, Any] = spec.model_dump(mode="json", include=set(FEDERATION_FIELDS))
    if spec.feature_noise_kind == "variance" or not spec.feature_noise:
        del fields["feature_noise_kind"]
        fields["dataset"].pop("normalise", None)
    return fields


def distinct_federations(blocks: Any) -> list[RunSpec]:
    """Each different federation that the blocks describe, at its first seed; what is not valid is left out."""
    specs: dict[str, RunSpec] = {}
    for spec in islice(valid_federation_specs(blocks), MOST_VARIANTS):
        specs.setdefault(repr(federation_fields(spec)), spec)
    return list(specs.values())


def valid_federation_specs(blocks: Any) -> Iterator[RunSpec]:
    for block in blocks if isinstance(blocks, list) else []:
        if isinstance(block, Mapping):
            for variant in value_variants(first_seed_fields(block), "", ""):
                try:
                    yield federation_spec(variant.value)
                except TributaryError:
                    continue


def first_seed_fields(block: Mapping[str, Any]) -> dict[str, Any]:
    relevant = {key: block[key] for key in (*FEDERATION_FIELDS, "seeds") if key in block}
    if isinstance(relevant.get("seeds"), int):
        relevant["seeds"] = 1
    fields = with_seeds(relevant)
    if isinstance(fields.get("seed"), list):
        fields["seed"] = fields["seed"][:1]
    return fields


def assign_samples(spec: RunSpec) -> SampleAssignment:
    dataset = load_catalog().datasets[spec.dataset.name]
    if remedy := dataset.available(spec.dataset):
        raise FederationError(remedy)
    arrays = dataset.load_for_run(spec.dataset)
    parts = partition_samples(spec, arrays)
    return SampleAssignment(spec, arrays, parts, share_between_clients(spec, parts))
