"""What makes two runs the same: all that can change a number, and nothing else."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from workers.catalog import load_catalog
from workers.spec.runspec import RunSpec

ANY_SEED = "any"


@dataclass(frozen=True)
class CellIdentity:
    """A cell's own hash, and the text around the seed from which the hash of each of its runs follows."""

    cell: str
    before: str
    after: str

    def run(self, seed: int) -> str:
        return sha256(f"{self.before}{seed}{self.after}")


def cell_identity(spec: RunSpec) -> CellIdentity:
    """What all seeds of a cell share, worked out once: a grid has many of them."""
    parts = identity(spec)
    parts["spec"]["seed"] = ANY_SEED
    before, after = canonical(parts).split(f'"seed":"{ANY_SEED}"')
    del parts["spec"]["seed"]
    return CellIdentity(digest(parts), f'{before}"seed":', after)


def canonical_hash(spec: RunSpec) -> str:
    """Hex SHA-256 over the resolved spec, the data set's checksum and the components' versions, without `engine`."""
    return digest(identity(spec))


def cell_hash(spec: RunSpec) -> str:
    """The same for all runs that differ only in seed."""
    without_seed = identity(spec)
    del without_seed["spec"]["seed"]
    return digest(without_seed)


def identity(spec: RunSpec) -> dict[str, Any]:
    catalog = load_catalog()
    dataset = catalog.datasets[spec.dataset.name]
    return {
        "spec": spec.model_dump(mode="json", exclude={"engine"}),
        "data": dataset.checksum(spec.dataset),
        "versions": {
            "dataset": dataset.stamp,
            "model": catalog.models[spec.model.name].stamp,
            "partition": catalog.partitions[spec.partition.name].stamp,
            "strategy": catalog.strategies[spec.strategy.name].stamp,
            "optimizer": catalog.optimizers[spec.local.optimizer.name].stamp,
        },
    }


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def digest(value: Any) -> str:
    return sha256(canonical(value))
