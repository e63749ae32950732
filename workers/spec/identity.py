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

    def run_hash(self, seed: int) -> str:
        return sha256_hex(f"{self.before}{seed}{self.after}")


def cell_identity(spec: RunSpec) -> CellIdentity:
    """What all seeds of a cell share, worked out once: a grid has many of them."""
    parts = identity_parts(spec)
    parts["spec"]["seed"] = ANY_SEED
    before, after = canonical_json(parts).split(f'"seed":"{ANY_SEED}"')
    del parts["spec"]["seed"]
    return CellIdentity(canonical_digest(parts), f'{before}"seed":', after)


def canonical_hash(spec: RunSpec) -> str:
    """Hex SHA-256 over the resolved spec, the data set's checksum and the components' versions, without `engine`."""
    return canonical_digest(identity_parts(spec))


def cell_hash(spec: RunSpec) -> str:
    """The same for all runs that differ only in seed."""
    without_seed = identity_parts(spec)
    del without_seed["spec"]["seed"]
    return canonical_digest(without_seed)


def identity_parts(spec: RunSpec) -> dict[str, Any]:
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


def canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def canonical_digest(value: Any) -> str:
    return sha256_hex(canonical_json(value))
