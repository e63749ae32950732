"""Specs as flat tables: `{"strategy": "fedprox", "strategy.mu": 0.1}`, and which columns vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

APP_FIELDS = ("name", "config", "clients", "metrics")
ADDED_LATER = {
    "feature_noise_kind": "variance",
    "selection": "uniform",
    "server_schedule": "constant",
    "server_schedule.warmup": 0,
    "local.schedule": "constant",
    "local.schedule.warmup": 0,
    "local.label_smoothing": 0.0,
    "local.keep_optimizer": False,
    "local.augment": "none",
}
"""What the fields mean that stored specs of earlier versions lack, where it is not null."""


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A component's name stands at the component's own path: strategy.name becomes strategy. What an app's config has

    stands at `app.KEY`, unless that is a field of `app` itself.
    """
    flat: dict[str, Any] = {}
    for key, value in spec.items():
        path = f"{prefix}.{key}" if prefix else key
        if path == "app.config":
            flat |= {f"app.config.{each}" if each in APP_FIELDS else f"app.{each}": value[each] for each in value}
        elif isinstance(value, dict):
            flat |= flatten(value, path)
        elif key == "name" and prefix:
            flat[prefix] = value
        else:
            flat[path] = value
    return flat


def varying_paths(specs: Iterable[Mapping[str, Any]], ignore: Iterable[str] = ("seed", "engine")) -> list[str]:
    """Paths that do not have one and the same value in all specs, in the order of first appearance."""
    return varying_flat_paths([flatten(spec) for spec in specs], ignore)


def varying_flat_paths(rows: Sequence[Mapping[str, Any]], ignore: Iterable[str] = ("seed", "engine")) -> list[str]:
    """The same for specs that are flat already: a lab compares hundreds at a time."""
    first, varying = rows[0] if rows else {}, set[str]()
    for row in rows[1:]:
        varying.update(
            path for path, value in row.items() if values_differ(value, first.get(path, ADDED_LATER.get(path)))
        )
        varying.update(path for path in first.keys() - row.keys() if first[path] != ADDED_LATER.get(path))
    varying -= set(ignore)
    return [path for path in dict.fromkeys(chain.from_iterable(rows)) if path in varying]


def values_differ(one: Any, other: Any) -> bool:
    return one != other or type(one) is not type(other)
