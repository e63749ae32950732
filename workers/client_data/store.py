"""Client distributions on disk, by what decides them: made once, read from then on. TRIBUTARY_HOME/portraits."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from workers.catalog import load_catalog
from workers.catalog.plugins import require_unchanged
from workers.client_data.assignment import assign_samples, federation_fields
from workers.client_data.distribution import ClientDistribution, distribution_info, distribution_on_demand
from workers.client_data.pictures import client_pictures
from workers.engine.federation import source_on_demand
from workers.errors import FederationError
from workers.home import home
from workers.spec import RunSpec
from workers.spec.identity import canonical_digest

DISTRIBUTION_FORMAT = 1
MOST_FILES = 2000
"""Files; the oldest go first."""
MANY_SAMPLES, MANY_CLIENTS = 300_000, 1_500


def store_folder() -> Path:
    return home() / "portraits"


def distribution_key(spec: RunSpec) -> str:
    """Raises a `StalePluginError` where this process holds other code than the files have by now."""
    catalog = load_catalog()
    catalog.refresh()
    dataset, partition = catalog.datasets[spec.dataset.name], catalog.partitions[spec.partition.name]
    require_unchanged(dataset)
    require_unchanged(partition)
    return canonical_digest(
        {
            "format": DISTRIBUTION_FORMAT,
            "spec": federation_fields(spec),
            "data": dataset.checksum(spec.dataset),
            "versions": [dataset.stamp, partition.stamp],
        }
    )


def is_quick(spec: RunSpec) -> bool:
    """Whether describing it is a matter of some 100 ms and needs no heavy library."""
    dataset = load_catalog().datasets[spec.dataset.name]
    small = spec.dataset_facts.train <= MANY_SAMPLES and spec.client_count <= MANY_CLIENTS
    return small and dataset.loads_at_once(spec.dataset)


def read_distribution(key: str) -> ClientDistribution | None:
    """A federation that cannot be made is kept too: finding that out takes every redraw."""
    try:
        data = json.loads((store_folder() / f"{key}.json").read_text())
        if "impossible" in data:
            raise FederationError(data["impossible"])
        rows = tuple(tuple(row) for row in data.pop("counts"))
        flat: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return ClientDistribution(**flat, counts=rows)
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def read_pictures(key: str) -> bytes | None:
    try:
        return (store_folder() / f"{key}.png").read_bytes()
    except FileNotFoundError:
        return None


def make_distribution(spec: RunSpec) -> ClientDistribution:
    key = distribution_key(spec)
    try:
        distribution, pictures = describe_clients(spec)
    except FederationError as error:
        write_stored_file(f"{key}.json", json.dumps({"impossible": error.detail}).encode())
        raise
    if distribution_key(spec) != key:
        raise FederationError("The data were replaced while they were read: look again.")
    if pictures:
        write_stored_file(f"{key}.png", pictures)
    write_stored_file(f"{key}.json", json.dumps(asdict(distribution), separators=(",", ":")).encode())
    remove_oldest_files()
    return distribution


def describe_clients(spec: RunSpec) -> tuple[ClientDistribution, bytes | None]:
    if source := source_on_demand(spec):
        return distribution_on_demand(spec, source), None
    assignment = assign_samples(spec)
    return distribution_info(assignment), client_pictures(assignment)


def write_stored_file(name: str, content: bytes) -> None:
    """Whole or not at all, whoever else writes the same."""
    store_folder().mkdir(parents=True, exist_ok=True)
    draft = store_folder() / f".{uuid4().hex}"
    try:
        draft.write_bytes(content)
        draft.replace(store_folder() / name)
    finally:
        draft.unlink(missing_ok=True)


def remove_oldest_files() -> None:
    entries = [entry for entry in os.scandir(store_folder()) if entry.is_file()]
    for entry in sorted(entries, key=lambda each: each.stat().st_mtime)[: max(0, len(entries) - MOST_FILES)]:
        Path(entry.path).unlink(missing_ok=True)
