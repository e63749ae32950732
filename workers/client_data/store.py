"""Portraits on disk, by what decides them: made once, read from then on. TRIBUTARY_HOME/portraits."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from workers.catalog import load_catalog
from workers.client_data.description import Portrait, portrait_info
from workers.client_data.holdings import hold, relevant
from workers.client_data.pictures import client_pictures
from workers.errors import FederationError
from workers.home import home
from workers.spec import RunSpec
from workers.spec.identity import digest

FORMAT = 1
KEPT = 2000
"""Files; the oldest go first."""
MANY_SAMPLES, MANY_CLIENTS = 300_000, 1_500


def folder() -> Path:
    return home() / "portraits"


def key_of(spec: RunSpec) -> str:
    catalog = load_catalog()
    dataset, partition = catalog.datasets[spec.dataset.name], catalog.partitions[spec.partition.name]
    return digest(
        {
            "format": FORMAT,
            "spec": relevant(spec),
            "data": dataset.checksum(spec.dataset),
            "versions": [dataset.stamp, partition.stamp],
        }
    )


def is_quick(spec: RunSpec) -> bool:
    """Whether the portrait is a matter of some 100 ms and needs no heavy library."""
    dataset = load_catalog().datasets[spec.dataset.name]
    small = spec.dataset_facts.train <= MANY_SAMPLES and spec.client_count <= MANY_CLIENTS
    return small and dataset.loads_at_once(spec.dataset)


def kept_portrait(key: str) -> Portrait | None:
    """A federation that cannot be made is kept too: finding that out takes every redraw."""
    try:
        data = json.loads((folder() / f"{key}.json").read_text())
        if "impossible" in data:
            raise FederationError(data["impossible"])
        rows = tuple(tuple(row) for row in data.pop("counts"))
        flat: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return Portrait(**flat, counts=rows)
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def kept_pictures(key: str) -> bytes | None:
    try:
        return (folder() / f"{key}.png").read_bytes()
    except FileNotFoundError:
        return None


def make_portrait(spec: RunSpec) -> Portrait:
    key = key_of(spec)
    try:
        holdings = hold(spec)
    except FederationError as error:
        keep(f"{key}.json", json.dumps({"impossible": error.detail}).encode())
        raise
    portrait = portrait_info(holdings)
    if pictures := client_pictures(holdings):
        keep(f"{key}.png", pictures)
    keep(f"{key}.json", json.dumps(asdict(portrait), separators=(",", ":")).encode())
    forget_old()
    return portrait


def keep(name: str, content: bytes) -> None:
    """Whole or not at all, whoever else writes the same."""
    folder().mkdir(parents=True, exist_ok=True)
    draft = folder() / f".{uuid4().hex}"
    try:
        draft.write_bytes(content)
        draft.replace(folder() / name)
    finally:
        draft.unlink(missing_ok=True)


def forget_old() -> None:
    entries = [entry for entry in os.scandir(folder()) if entry.is_file()]
    for entry in sorted(entries, key=lambda each: each.stat().st_mtime)[: max(0, len(entries) - KEPT)]:
        Path(entry.path).unlink(missing_ok=True)
